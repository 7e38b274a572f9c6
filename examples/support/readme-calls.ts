import { readFileSync } from "node:fs";
import { codeBlocks } from "@svc/test-support";
import { expect } from "chai";
import request from "supertest";

interface Call {
  readonly method: keyof typeof methods;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/**
 * Sends the requests of a README's `curl` commands to `origin`. Compares each response with its line in the text
 * blocks, which contains the status and the body; `...` at its end means that the body continues.
 *
 * @param given variables that the commands use but do not set
 * @returns the number of calls
 */
export async function makeCalls(
  readme: URL,
  origin: string,
  given: ReadonlyMap<string, string> = new Map(),
): Promise<number> {
  const text = readFileSync(readme, "utf8");
  const commands = linesOf(text, "sh");
  const calls = commands.filter((line) => line.startsWith("curl "));
  const answers = linesOf(text, "text");
  expect(answers, "one response for each call").to.have.length(calls.length);
  const variables = new Map(given);
  for (const line of commands) {
    const [, name = "", command = "", member = ""] = assignment.exec(line) ?? [];
    if (name === "") continue;
    const { body } = await make(parse(command, variables), origin);
    variables.set(name, (body as Readonly<Record<string, string>>)[member] ?? "");
  }
  for (const [index, line] of calls.entries()) {
    const answer = await make(parse(line, variables), origin);
    const [, status, start = ""] = /^(\d{3}) (.*?)(?: \.\.\.)?$/.exec(answers[index] ?? "") ?? [];
    expect({ line, status: String(answer.status) }).to.deep.equal({ line, status });
    expect(answer.text.slice(0, start.length), line).to.equal(start);
  }
  return calls.length;
}

/** Matches a command that sets a variable to one member of a JSON response. */
const assignment = /^([A-Z]+)=\$\((curl .*) \| node -pe 'JSON\.parse\(fs\.readFileSync\(0\)\)\.([a-z_]+)'\)$/;

const methods = { GET: "get", POST: "post", PUT: "put", DELETE: "delete" } as const;

async function make({ method, url, headers, body }: Call, origin: string): Promise<request.Response> {
  const { pathname, search, host } = new URL(url);
  const asked = request(origin)
    [methods[method]](`${pathname}${search}`)
    .set({ ...headers, Host: host });
  return body === undefined ? asked : asked.send(body);
}

function linesOf(markdown: string, language: string): string[] {
  return codeBlocks(markdown, language).flatMap((block) => block.trim().split("\n"));
}

/** Parses a `curl` command with quoted words and the flags that the READMEs use. */
function parse(line: string, variables: ReadonlyMap<string, string>): Call {
  const words = [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, quoted, open, bare = ""]) =>
      quoted ?? open?.replace(/\$([A-Z]+)/g, (_all, name: string) => variables.get(name) ?? "") ?? bare,
  );
  const headers: Record<string, string> = {};
  let [method, url, body]: [Call["method"], string, string | undefined] = ["GET", "", undefined];
  for (let i = 1; i < words.length; i++) {
    const word = words[i] ?? "";
    if (word === "-i" || word === "-s") continue;
    const value = word.startsWith("-") ? (words[++i] ?? "") : word;
    if (word === "-X") method = knownMethod(value);
    else if (word === "--data-binary") [method, body] = ["POST", fileOf(value)];
    else if (word === "-d") [method, body] = [method === "GET" ? "POST" : method, value];
    else if (word === "-H") headers[value.split(": ")[0] ?? ""] = value.split(": ")[1] ?? "";
    else if (word.startsWith("-")) throw new Error(`${word} of ${line} is not a supported flag`);
    else url = word;
  }
  return { method, url, headers, body };
}

/** Returns the content of `@path`, relative to the root of the repository. */
function fileOf(path: string): string {
  if (!path.startsWith("@")) throw new Error(`${path} must be @ and the path of a file`);
  return readFileSync(new URL(`../../${path.slice(1)}`, import.meta.url), "utf8");
}

function knownMethod(name: string): Call["method"] {
  if (Object.hasOwn(methods, name)) return name as Call["method"];
  throw new Error(`the method ${name} is not supported`);
}

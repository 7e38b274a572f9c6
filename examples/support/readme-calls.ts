import { readFileSync } from "node:fs";
import { codeBlocks } from "@svc/test-support";
import { expect } from "chai";

interface Call {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/**
 * Makes every call of a README's `curl` lines, to `origin` in the place of the one that they name, and
 * compares its status and the start of its body with what the text blocks say: one line for each call, `...`
 * at the end where it is cut.
 *
 * @returns how many calls were made
 */
export async function makeCalls(readme: URL, origin: string): Promise<number> {
  const text = readFileSync(readme, "utf8");
  const calls = linesOf(text, "sh").filter((line) => line.startsWith("curl "));
  const answers = linesOf(text, "text");
  expect(answers, "one answer for each call").to.have.length(calls.length);
  for (const [index, line] of calls.entries()) {
    const { method, url, headers, body } = parse(line);
    const { pathname, search } = new URL(url);
    const answer = await fetch(`${origin}${pathname}${search}`, { method, headers, ...(body && { body }) });
    const [, status, start = ""] = /^(\d{3}) (.*?)(?: \.\.\.)?$/.exec(answers[index] ?? "") ?? [];
    const got = await answer.text();
    expect({ line, status: String(answer.status) }).to.deep.equal({ line, status });
    expect(got.slice(0, start.length), line).to.equal(start);
  }
  return calls.length;
}

function linesOf(markdown: string, language: string): string[] {
  return codeBlocks(markdown, language).flatMap((block) => block.trim().split("\n"));
}

/** The words of a command line, quoted ones as one, by the flags that the READMEs use. */
function parse(line: string): Call {
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare = ""]) => quoted ?? bare);
  const headers: Record<string, string> = {};
  let [method, url, body]: [string, string, string | undefined] = ["GET", "", undefined];
  for (let i = 1; i < words.length; i++) {
    const word = words[i] ?? "";
    if (word === "-i") continue;
    const value = word.startsWith("-") ? (words[++i] ?? "") : word;
    if (word === "-X") method = value;
    else if (word === "-d") [method, body] = [method === "GET" ? "POST" : method, value];
    else if (word === "-H") headers[value.split(": ")[0] ?? ""] = value.split(": ")[1] ?? "";
    else if (word.startsWith("-")) throw new Error(`${word} of ${line} is not understood here`);
    else url = word;
  }
  return { method, url, headers, body };
}

import { openTestDatabase } from "@svc/dev-services";
import { signToken } from "@svc/test-support";
import fc from "fast-check";
import { serviceUrl } from "../examples/full-service/src/database-role.ts";
import { embeddedFolder } from "../examples/full-service/test/support/embedded-folder.ts";
import { type Case, casesOf } from "./described-fuzz/cases.ts";
import { type JsonSchema, readDocument } from "./described-fuzz/document.ts";
import type { Caller } from "./described-fuzz/draft.ts";
import { createJudge, type Fault, faultKinds } from "./described-fuzz/judge.ts";
import type { DescribedSettings } from "./described-fuzz/service.ts";
import type { Known } from "./described-fuzz/values.ts";
import { keepAliveAgent, type Outcome, send } from "./harness/client.ts";
import type { Experiment, Run } from "./harness/experiment.ts";
import type { Report } from "./harness/report.ts";
import { startService } from "./harness/service-process.ts";

const secret = "a secret of the experiment, 32 bytes or more";
const sideBySide = 16;
const samples = 5;
const shownCharacters = 300;

const rules: Readonly<Record<Fault["kind"], string>> = {
  "server error": "no response is a 5xx, and every request gets a response",
  "undeclared status": "every status is declared for its operation",
  "no problem": "every error is a problem",
  "wrong body": "every 2xx body is valid against its schema",
  "valid refused": "no valid request is refused",
};

/** Sends requests that are generated from the document of the example, and checks the responses against the document. */
export const describedFuzz: Experiment = {
  name: "described-fuzz",
  description:
    "requests generated from /openapi.json, half of them altered: each response is as the document says",
  brokenVariants: ["broken-undeclared-status", "broken-no-body-check"],
  async run(run, report) {
    const seed = run.seed ?? Math.floor(Math.random() * 1e9);
    const count = run.cases ?? (run.quick ? 500 : 20_000);
    report.note(`repeat with: --seed ${seed} --cases ${count}`);
    await using database = await openTestDatabase({ name: "described fuzz" });
    const databaseUrl = await serviceUrl(database.url);
    using folder = await embeddedFolder();
    const settings: DescribedSettings = {
      databaseUrl,
      searchFolder: folder.path,
      secret,
      variant: run.variant,
    };
    // The embedded database is WebAssembly. In a run this short, optimizing it takes more CPU time than running it.
    const execArgv = run.quick ? ["--liftoff-only"] : [];
    await using service = await startService("../described-fuzz/service.ts", settings, { execArgv });
    const known = await fill(service.port);
    const document = parse((await send(service.port, "/openapi.json")).body);
    const cases = fc.sample(casesOf(readDocument(document), known), { seed, numRuns: count });
    const answers = await sendAll(service.port, cases, run);
    judgeAll(cases, answers, document, report);
    const { status } = await send(service.port, "/health");
    report.rule(status === 200, `/health returns 200 afterwards (${service.ending})`);
  },
};

/** Creates some rows, and returns the values that only the service can create. */
async function fill(port: number): Promise<Known> {
  const headers = headersOf("full", "someone");
  const post = async (path: string, json: object): Promise<JsonSchema> => {
    const { status, body } = await send(port, path, { method: "POST", headers, json });
    if (status >= 300) throw new Error(`POST ${path} returned ${status}: ${body}`);
    return parse(body);
  };
  const ids: string[] = [];
  for (const category of ["travel", "meals", "office"]) {
    const made = await post("/expenses", {
      category,
      amount: "12.50",
      note: "",
      paid_at: "2026-03-01T12:00:00Z",
    });
    ids.push(String(made["id"]));
  }
  await post("/documents", {
    id: "receipt-1",
    text: "Two coffees at the station",
    meta: { category: "meals" },
  });
  const file = Buffer.from("category,amount,paid_at\nmeals,1.50,2026-03-01T12:00:00Z\n");
  const csv = { ...headers, "Content-Type": "text/csv", "Content-Length": String(file.length) };
  const imported = await send(port, "/expenses/import", { method: "POST", headers: csv, parts: once(file) });
  const { body } = await send(port, "/expenses?limit=1", { headers });
  return {
    cursor: [String(parse(body)["next"])],
    "/expenses/{id}": ids,
    "/imports/{id}": [String(parse(imported.body)["id"])],
  };
}

async function sendAll(port: number, cases: readonly Case[], run: Run): Promise<readonly Outcome[]> {
  const answers: Outcome[] = [];
  const agent = keepAliveAgent(sideBySide);
  const deadlineMs = run.quick ? 20_000 : 10_000;
  let at = 0;
  const work = async (): Promise<void> => {
    while (at < cases.length) {
      const index = at++;
      const one = cases[index] as Case;
      const { headers, body } = messageOf(one);
      const parts = body === undefined ? undefined : once(body);
      answers[index] = await send(port, targetOf(one), {
        method: one.method,
        headers,
        parts,
        agent,
        deadlineMs,
      });
    }
  };
  await Promise.all(Array.from({ length: sideBySide }, work));
  agent.destroy();
  return answers;
}

function judgeAll(
  cases: readonly Case[],
  answers: readonly Outcome[],
  document: JsonSchema,
  report: Report,
): void {
  const judge = createJudge(document);
  const found = cases.flatMap((sent, index) => {
    const answer = answers[index] as Outcome;
    return judge(sent, answer).map((fault) => ({ fault, sent, answer }));
  });
  const valid = cases.filter(({ twists }) => twists.length === 0);
  const operations = new Set(cases.map(({ operation }) => `${operation.method} ${operation.template}`));
  report.figure("all", "requests", cases.length, "count");
  report.figure("all", "operations", operations.size, "count");
  report.figure("all", "valid requests", valid.length, "count");
  for (const [status, those] of [...Map.groupBy(answers, (each) => each.status)].toSorted(
    ([a], [b]) => a - b,
  ))
    report.figure("answers", `status ${status}`, those.length, "count");
  for (const kind of faultKinds) {
    const those = found.filter(({ fault }) => fault.kind === kind);
    report.figure("faults", kind, those.length, "count");
    const groups = Map.groupBy(
      those,
      ({ fault, sent }) => `${sent.operation.method} ${sent.operation.template}: ${fault.text.slice(0, 80)}`,
    );
    for (const [text, each] of [...groups].slice(0, 40)) {
      report.note(`${kind}: ${each.length} x ${text}`);
      for (const { sent, answer } of each.slice(0, samples)) report.note(`    ${shown(sent, answer)}`);
    }
    report.rule(those.length === 0, rules[kind]);
  }
}

function shown(sent: Case, { status, body }: Outcome): string {
  const { headers, body: bytes } = messageOf(sent);
  const { Authorization: _token, ...others } = headers;
  const text = bytes === undefined ? "" : ` ${JSON.stringify(bytes.toString().slice(0, shownCharacters))}`;
  return `[${sent.twists.join(" + ")}] ${sent.method} ${targetOf(sent).slice(0, shownCharacters)} ${sent.caller} ${JSON.stringify(others).slice(0, shownCharacters)}${text} -> ${status} ${body.slice(0, shownCharacters)}`;
}

function targetOf({ segments, query }: Case): string {
  const search = query.map((pair) => pair.join("=")).join("&");
  return `/${segments.join("/")}${search === "" ? "" : `?${search}`}`;
}

interface Message {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

function messageOf({ operation, caller, headers, json, raw }: Case): Message {
  const body = raw?.bytes ?? (json === undefined ? undefined : Buffer.from(JSON.stringify(json)));
  const type = raw === undefined ? "application/json" : raw.type;
  // A sign-out on a page ends all sessions of its user.
  const subject = operation.isForPeople ? "visitor" : "someone";
  const ofBody =
    body === undefined
      ? {}
      : { "Content-Length": String(body.length), ...(type === undefined ? {} : { "Content-Type": type }) };
  return { headers: { ...headersOf(caller, subject), ...ofBody, ...headers }, body };
}

function headersOf(caller: Caller, subject: string): Readonly<Record<string, string>> {
  if (caller === "none") return {};
  const claims = {
    iss: "expenses",
    aud: "expenses",
    sub: subject,
    tenant_id: "acme",
    scope: "expenses:read expenses:write",
    roles: ["admin", "operator"],
  };
  const tokens: Readonly<Record<Exclude<Caller, "none">, string>> = {
    full: signToken(claims, secret),
    malformed: "a.b.c",
    expired: signToken({ ...claims, exp: 1 }, secret),
    "foreign key": signToken(claims, `${secret} of another`),
    "no scope": signToken({ ...claims, scope: "", roles: [] }, secret),
    "no tenant": signToken({ ...claims, tenant_id: undefined }, secret),
  };
  return { Authorization: `Bearer ${tokens[caller]}` };
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

function parse(text: string): JsonSchema {
  return JSON.parse(text) as JsonSchema;
}

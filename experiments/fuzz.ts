import { type Answer, headerOf, problemFault } from "./harness/answers.ts";
import { send } from "./harness/client.ts";
import type { Experiment, Run } from "./harness/experiment.ts";
import type { Report } from "./harness/report.ts";
import { startService, type ServiceProcess } from "./harness/service-process.ts";
import { type Exchange, exchange } from "./fuzz/exchange.ts";
import { type Case, createGenerator } from "./fuzz/generator.ts";
import { createRandom } from "./fuzz/random.ts";
import type { FuzzedSettings } from "./services/fuzzed.ts";

const maxBody = 16 * 1024;
const sideBySide = 32;
const batchSize = 512;
/** Returns the milliseconds to wait for a response, which exceed every deadline of the service. */
const lastMs = (run: Run): number => (run.quick ? 5000 : 8000);
const samples = 8;
const legalId = /^[!-~]{1,128}$/;

/** Sends thousands of invalid or unusual requests, and checks every byte of the responses. */
export const fuzz: Experiment = {
  name: "fuzz",
  description:
    "10,000 unusual and invalid requests: each gets a problem or another valid response, no invalid one reaches a route",
  brokenVariants: ["broken-handler", "broken-raw-log", "broken-plain-server"],
  async run(run, report) {
    const seed = run.seed ?? Math.floor(Math.random() * 1e9);
    const count = run.cases ?? (run.quick ? 1000 : 10_000);
    report.note(`repeat with: --seed ${seed} --cases ${count}`);
    const settings: FuzzedSettings = { maxBody, variant: run.variant };
    await using service = await startService("fuzzed.ts", settings);
    const results = await sendAll(service, count, seed, lastMs(run));
    const { status } = await send(service.port, "/health");
    // The logger writes at the end of an event-loop turn, so the record of this last request comes after all others.
    await send(service.port, "/the-end");
    await hasLine(service, "/the-end", run);
    reportResults(results, seed, report);
    reportLog(service.lines, report);
    report.rule(status === 200, "/health returns 200 afterwards");
    report.rule(service.exit === undefined, `the process survives (${service.ending})`);
  },
};

interface Result extends Exchange {
  readonly sent: Case;
  readonly reached: readonly string[];
}

async function sendAll(
  service: ServiceProcess,
  count: number,
  seed: number,
  deadlineMs: number,
): Promise<readonly Result[]> {
  const next = createGenerator(createRandom(seed), maxBody);
  const results: Result[] = [];
  while (results.length < count && service.exit === undefined) {
    const cases = Array.from({ length: Math.min(batchSize, count - results.length) }, next);
    const exchanges: Exchange[] = [];
    // The system may assign a client port again, so the port and the order of its connections identify the exchange.
    const turns = new Map<number, number>();
    const turnOf = new Map<Exchange, number>();
    let at = 0;
    const work = async (): Promise<void> => {
      while (at < cases.length) {
        const index = at++;
        const sent = cases[index];
        if (sent === undefined) continue;
        const done = await exchange(service.port, sent, deadlineMs);
        const turn = turns.get(done.localPort) ?? 0;
        turns.set(done.localPort, turn + 1);
        turnOf.set(done, turn);
        exchanges[index] = done;
      }
    };
    await Promise.all(Array.from({ length: sideBySide }, work));
    const answered = await service.ask<[port: number, turn: number, target: string][]>("reached");
    for (const [index, sent] of cases.entries()) {
      const done = exchanges[index];
      if (done === undefined) continue;
      const reached = answered
        .filter(([port, turn]) => port === done.localPort && turn === turnOf.get(done))
        .map(([, , target]) => target);
      results.push({ ...done, sent, reached });
    }
  }
  return results;
}

async function hasLine({ lines }: ServiceProcess, path: string, run: Run): Promise<void> {
  const until = performance.now() + (run.quick ? 5000 : 20_000);
  while (performance.now() < until && !lines.some((line) => line.includes(path))) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function reportResults(results: readonly Result[], seed: number, report: Report): void {
  const answered = results.filter((each) => each.answers.length > 0);
  const silent = results.filter((each) => each.answers.length === 0);
  const unlisted = silent.filter((each) => each.sent.unanswered === undefined);
  const statuses = Map.groupBy(answered, (each) => each.answers[0]?.status ?? 0);
  const wrong = results.flatMap((each) => faultsOf(each).map((fault) => [fault, each] as const));
  const refused = results.filter((each) => each.sent.refused);
  const trespasses = refused.filter((each) => each.reached.length > 0);
  const share = answered.length / results.length;
  report.figure("all", "requests", results.length, "count");
  report.figure("all", "seed", seed, "seed");
  report.figure("all", "answered", share * 100, "%");
  report.figure("all", "reached a route", results.filter((each) => each.reached.length > 0).length, "count");
  report.figure("to be refused", "requests", refused.length, "count");
  report.figure("to be refused", "reached a route", trespasses.length, "count");
  for (const [status, those] of [...statuses].toSorted(([a], [b]) => a - b)) {
    report.figure("first answer", `status ${status}`, those.length, "count");
  }
  for (const [why, those] of Map.groupBy(silent, (each) => each.sent.unanswered ?? "in no listed class")) {
    report.figure("unanswered", why, those.length, "count");
  }
  show("reached a route", trespasses, report);
  show("no answer", unlisted, report);
  for (const [fault, those] of Map.groupBy(wrong, ([text]) => text)) {
    report.figure("wrong answers", fault, those.length, "count");
    show(
      fault,
      those.map(([, each]) => each),
      report,
    );
  }
  const errors = answered.filter((each) => each.answers.some(({ status }) => status >= 500));
  report.rule(share >= 0.95, "at least 95 % of the requests are answered");
  report.rule(unlisted.length === 0, "every request without a response belongs to a listed class");
  report.rule(errors.length === 0, "no response is a 5xx");
  report.rule(
    wrong.length === 0,
    "every response is valid HTTP with a legal request id, every refusal a problem",
  );
  report.rule(trespasses.length === 0, "no request that must be refused reaches a route");
}

function faultsOf({ answers, fault, sent }: Result): readonly string[] {
  const toHead = /^[\r\n]*HEAD /.test(sent.bytes.toString("latin1", 0, 16));
  const found = answers.map((each, index) => answerFault(each, toHead && index === 0));
  return [...found, fault].filter((each) => each !== undefined);
}

function answerFault(answer: Answer, toHead: boolean): string | undefined {
  const { status } = answer;
  if (!legalId.test(headerOf(answer, "x-request-id") ?? "")) return `${status} without a legal X-Request-ID`;
  if ((status >= 200 && status < 300) || status === 304) return undefined;
  if (status < 400 || status > 499) return `status ${status}`;
  const fault = problemFault(answer, toHead);
  return fault === undefined ? undefined : `${status} with ${fault}`;
}

function show(what: string, results: readonly Result[], report: Report): void {
  for (const { sent, error, answers } of results.slice(0, samples)) {
    const bytes = JSON.stringify(sent.bytes.toString("latin1").slice(0, 240));
    const came = answers.map(({ status }) => status).join() || (error ?? "nothing");
    report.note(`${what}: [${sent.mutations.join(" + ")}] in ${sent.pieces}, ${came}: ${bytes}`);
  }
}

function reportLog(lines: readonly string[], report: Report): void {
  const bad = lines.filter((line) => !isRecord(line));
  report.figure("log", "lines", lines.length, "count");
  report.figure("log", "lines that are not a record", bad.length, "count");
  report.figure("log", "longest line", Math.max(0, ...lines.map((line) => line.length)), "characters");
  for (const line of bad.slice(0, samples))
    report.note(`not a record: ${JSON.stringify(line.slice(0, 240))}`);
  report.rule(lines.length > 0 && bad.length === 0, "every log line is one record");
}

function isRecord(line: string): boolean {
  try {
    const record = JSON.parse(line) as Readonly<Record<string, unknown>>;
    const isWhole = ["service", "env", "level", "message"].every((name) => typeof record[name] === "string");
    const id = record["request_id"];
    return isWhole && (id === undefined || (typeof id === "string" && legalId.test(id)));
  } catch {
    return false;
  }
}

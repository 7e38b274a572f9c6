import { setTimeout as delay } from "node:timers/promises";
import { keepAliveAgent, send, tally } from "./harness/client.ts";
import type { Experiment, Run } from "./harness/experiment.ts";
import type { Report } from "./harness/report.ts";
import { startService, type ServiceProcess } from "./harness/service-process.ts";
import { startStallMonitor } from "./harness/stall-monitor.ts";
import type { ChattySettings } from "./services/chatty.ts";

const clients = 8;
const linesPerRequest = 100;
const deadlineMs = 4000;
/**
 * Deadline in milliseconds for the first requests, during which the service compiles its code: on a busy machine that takes
 * seconds. A service that blocks on a full pipe never responds.
 */
const firstDeadlineMs = 20_000;
/**
 * Permitted growth of the memory. The queue of log lines takes 8 MiB; the remainder is a margin for other memory of a busy
 * process.
 */
const mostGrowthMiB = 48;
const mib = 1024 * 1024;

/** Starts a service that logs into a pipe; leaves the pipe unread, then reads it, then closes it. */
export const logPressure: Experiment = {
  name: "log-pressure",
  description:
    "standard output unread, then closed: requests are answered, memory is bounded, lost lines are reported",
  brokenVariants: ["broken-unbounded", "broken-blocking"],
  async run(run, report) {
    const settings: ChattySettings = { linesPerRequest, variant: run.variant };
    const options = { execArgv: ["--expose-gc"], readOutput: false };
    await using service = await startService("chatty.ts", settings, options);
    const isAlive = await unread(service, run, report);
    if (!isAlive) return;
    await closed(service, run, report);
  },
};

interface Asked {
  readonly count: number;
  readonly failures: readonly string[];
}

async function ask(service: ServiceProcess, count: number, ms = deadlineMs): Promise<Asked> {
  const agent = keepAliveAgent(clients);
  const failures: string[] = [];
  let begun = 0;
  const client = async (): Promise<void> => {
    // The first failure is enough: each further one may take as long as the deadline.
    while (begun < count && failures.length === 0) {
      begun += 1;
      const { status, error } = await send(service.port, "/chat", { agent, deadlineMs: ms });
      if (status !== 200) failures.push(error ?? String(status));
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  agent.destroy();
  return { count: begun, failures };
}

async function unread(service: ServiceProcess, run: Run, report: Report): Promise<boolean> {
  const warm = await ask(service, clients, firstDeadlineMs);
  const before = warm.failures.length === 0 ? await service.ask<number>("memory") : 0;
  const asked = warm.failures.length > 0 ? warm : await ask(service, run.cases ?? (run.quick ? 1000 : 5000));
  report.figure("unread", "requests", asked.count, "count");
  report.figure("unread", "failed requests", asked.failures.length, "count");
  report.rule(asked.failures.length === 0, `unread: requests are answered (${tally(asked.failures)})`);
  if (asked.failures.length > 0) return false;
  const growth = ((await service.ask<number>("memory")) - before) / mib;
  report.figure("unread", "log lines", asked.count * linesPerRequest, "count");
  report.figure("unread", "memory growth", growth, "MiB");
  report.rule(growth < mostGrowthMiB, `unread: memory grows by less than ${mostGrowthMiB} MiB`);
  // A short run stops at the first broken rule.
  if (run.quick && growth >= mostGrowthMiB) return false;

  await readToTheNotice(service);
  const records = service.lines.map(recordOf);
  const dropped = records.reduce((sum, record) => sum + Number(record?.["dropped_lines"] ?? 0), 0);
  const whole = records.filter((record) =>
    ["chatter", "request"].includes(String(record?.["message"])),
  ).length;
  const written = (asked.count + clients) * (linesPerRequest + 1);
  report.figure("read again", "lines", records.length, "count");
  report.figure("read again", "lines reported as lost", dropped, "count");
  report.figure("read again", "lines lost without a report", written - whole - dropped, "count");
  report.rule(dropped > 0, "read again: the log says how many lines were lost");
  report.rule(whole + dropped === written, "read again: every line is written or reported as lost");
  report.rule(!records.includes(undefined), "read again: every line is one record");
  return true;
}

/**
 * Milliseconds without a line after which the reading stops. A service retries every 100 ms, and reports lost lines
 * last.
 */
const quietMs = 2000;
const mostReadingMs = 20_000;

/**
 * Reads until the service reports lost lines, or no line has arrived for `quietMs`, not counting stalls of the machine.
 */
async function readToTheNotice(service: ServiceProcess): Promise<void> {
  const { lines } = service;
  await using stallMonitor = await startStallMonitor();
  service.readOutput();
  const began = performance.now();
  let [seen, seenAt] = [0, began];
  const since = (from: number): number =>
    performance.now() - from - stallMonitor.between(from, performance.now());
  while (since(seenAt) < quietMs && since(began) < mostReadingMs) {
    await delay(50);
    const fresh = lines.slice(seen);
    if (fresh.some((line) => line.includes('"dropped_lines"'))) return;
    if (fresh.length > 0) [seen, seenAt] = [lines.length, performance.now()];
  }
}

async function closed(service: ServiceProcess, run: Run, report: Report): Promise<void> {
  service.closeOutput();
  const asked = await ask(service, run.quick ? 200 : 2000);
  const { status } = await send(service.port, "/health", { deadlineMs: 5000 });
  service.signal("SIGTERM");
  const exit = await Promise.race([service.exited, delay(20_000, undefined, { ref: false })]);
  report.figure("closed", "requests", asked.count, "count");
  report.figure("closed", "failed requests", asked.failures.length, "count");
  report.rule(asked.failures.length === 0, `closed: requests are answered (${tally(asked.failures)})`);
  report.rule(status === 200, "closed: /health returns 200");
  report.rule(exit?.code === 0, "closed: the service stops with exit code 0");
}

function recordOf(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(line) as Readonly<Record<string, unknown>>;
  } catch {
    return undefined;
  }
}

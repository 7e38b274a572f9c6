import { setTimeout as delay } from "node:timers/promises";
import { keepAliveAgent, send } from "./harness/client.ts";
import { asBuilt, type Experiment, type Run } from "./harness/experiment.ts";
import { quantile, type Report } from "./harness/report.ts";
import { startService, type ServiceProcess } from "./harness/service-process.ts";
import { type SlowConnection, slowConnection } from "./harness/slow-connection.ts";
import { together } from "./harness/together.ts";
import { startStallMonitor, type StallMonitor } from "./harness/stall-monitor.ts";
import type { EdgeSettings } from "./services/edge.ts";

const connections = 300;
const otherConnections = 50;
const healthP99Ms = 100;

interface Case {
  readonly name: string;
  readonly head: string;
  readonly drip: string;
  readonly count: number;
  /** The deadline at which the service closes the connection. */
  readonly deadlineSeconds: number;
}

/** Keeps connections open by sending hardly any bytes, and requests `/health` on another connection. */
export const slowClients: Experiment = {
  name: "slow-clients",
  description:
    "300 clients that send a byte a second: all are closed within a second of the deadline, and /health still answers",
  brokenVariants: ["broken-node-defaults"],
  async run(run, report) {
    const plain = run.variant !== asBuilt;
    const settings: EdgeSettings = {
      headersTimeoutSeconds: run.quick ? 1.5 : 4,
      receiveTimeoutSeconds: run.quick ? 2 : 6,
      plain,
    };
    const [one, other] = await together([startService("edge.ts", settings), startStallMonitor()]);
    await using service = one;
    await using stallMonitor = other;
    const over = new AbortController();
    // A short run does not check latencies and needs fewer requests.
    const latencies = askHealth(service.port, run.quick ? 50 : 10, over.signal);
    await Promise.all(cases(settings).map((each) => hold(each, { service, stallMonitor, run, report })));
    over.abort();
    reportHealth(await latencies, run, report);
    await slowReaders(service, run, report);
  },
};

function cases({ headersTimeoutSeconds, receiveTimeoutSeconds }: EdgeSettings): readonly Case[] {
  return [
    {
      name: "slow headers",
      head: "GET /health HTTP/1.1\r\nHost: a\r\nX-Slow: ",
      drip: "a",
      count: connections,
      deadlineSeconds: headersTimeoutSeconds,
    },
    { name: "silent", head: "", drip: "", count: otherConnections, deadlineSeconds: headersTimeoutSeconds },
    {
      name: "slow body",
      head: "POST /things HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n[",
      drip: " ",
      count: otherConnections,
      deadlineSeconds: receiveTimeoutSeconds,
    },
  ];
}

interface Scene {
  readonly service: ServiceProcess;
  readonly stallMonitor: StallMonitor;
  readonly run: Run;
  readonly report: Report;
}

async function hold(given: Case, { service, stallMonitor, run, report }: Scene): Promise<void> {
  const { name, deadlineSeconds, count } = given;
  // A busy machine may close connections late, so a short run only checks that they are closed at all.
  const graceMs = run.quick ? 3000 : 1000;
  const limitMs = deadlineSeconds * 1000 + graceMs;
  const started = performance.now();
  const held = Array.from({ length: count }, () => slowConnection(service.port, { ...given, everyMs: 1000 }));
  const closed = Promise.all(held.map((each) => each.closed));
  // During a stall of the machine, this process notices a close late.
  const ours = (from: number): number =>
    performance.now() - from - stallMonitor.between(from, performance.now());
  while (ours(started) < limitMs + 100 && held.some((each) => each.ms === undefined))
    await Promise.race([closed, delay(limitMs + 100 - ours(started))]);
  const openMs = ({ startedAt, ms = Number.POSITIVE_INFINITY }: SlowConnection): number =>
    ms - stallMonitor.between(startedAt, startedAt + ms);
  const open = held.filter((each) => openMs(each) > limitMs).length;
  report.figure(name, "connections", count, "count");
  report.figure(name, `open ${graceMs / 1000} s after the deadline of ${deadlineSeconds} s`, open, "count");
  report.figure(name, "answered with 408", held.filter((each) => each.status === 408).length, "count");
  report.figure(name, "closed after, longest", Math.max(...held.map((each) => each.ms ?? limitMs)), "ms");
  for (const each of held) each[Symbol.dispose]();
  report.rule(open === 0, `${name}: every connection is closed ${graceMs / 1000} s after the deadline`);
}

async function askHealth(port: number, everyMs: number, signal: AbortSignal): Promise<readonly number[]> {
  const agent = keepAliveAgent(1);
  const latencies: number[] = [];
  while (!signal.aborted) {
    const { status, ms } = await send(port, "/health", { agent });
    latencies.push(status === 200 ? ms : Number.POSITIVE_INFINITY);
    await delay(everyMs);
  }
  agent.destroy();
  return latencies;
}

function reportHealth(latencies: readonly number[], run: Run, report: Report): void {
  const p99 = quantile(latencies, 0.99);
  report.figure("/health meanwhile", "requests", latencies.length, "count");
  report.figure("/health meanwhile", "p99", p99, "ms");
  report.rule(
    latencies.length > 0 && latencies.every((ms) => Number.isFinite(ms)),
    "/health returns 200 all the time",
  );
  if (!run.quick) report.rule(p99 < healthP99Ms, `/health p99 is under ${healthP99Ms} ms`);
}

/**
 * Opens connections that do not read their response, which the service holds in memory; stopping must not wait for them.
 */
async function slowReaders(service: ServiceProcess, run: Run, report: Report): Promise<void> {
  const head = "GET /page HTTP/1.1\r\nHost: a\r\n\r\n";
  const held = Array.from({ length: otherConnections }, () =>
    slowConnection(service.port, { head, drip: "", everyMs: 1000, reads: false }),
  );
  await delay(500);
  const { status } = await send(service.port, "/health");
  const signalled = performance.now();
  service.signal("SIGTERM");
  const exit = await Promise.race([
    service.exited,
    delay(run.quick ? 15_000 : 10_000, undefined, { ref: false }),
  ]);
  for (const each of held) each[Symbol.dispose]();
  const stopMs = (exit?.at ?? Number.POSITIVE_INFINITY) - signalled;
  report.figure("slow readers", "connections", held.length, "count");
  report.figure("slow readers", "signal to exit", stopMs, "ms");
  report.rule(status === 200, "slow readers: /health answers");
  report.rule(exit !== undefined, "slow readers: the service stops");
}

import { get } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { createBalancer, type Balancer } from "./harness/balancer.ts";
import { keepAliveAgent, send, tally, type Outcome } from "./harness/client.ts";
import { asBuilt, type Experiment, type Run } from "./harness/experiment.ts";
import { quantile, type Report } from "./harness/report.ts";
import { startService, type ServiceProcess } from "./harness/service-process.ts";
import { together } from "./harness/together.ts";
import { startStallMonitor, type StallMonitor } from "./harness/stall-monitor.ts";
import type { ReplicaSettings } from "./services/replica.ts";
import { runGatewayPart } from "./stop-under-load/gateway-part.ts";

const workers = 32;
/** Milliseconds between two requests of a worker in a short run, around the signal and otherwise. */
const quickPausesMs = { hurrying: 10, calm: 150 } as const;
const hurriesBeforeMs = 300;
const hurriesAfterMs = 1000;
/** Milliseconds before the signal at which the long requests are sent. */
const inFlightMs = 100;
const pollMs = 200;
const propagationMs = [100, 300] as const;
const uploadParts = 64;
const partBytes = 16 * 1024;
/** The body is larger than the buffers of the system for a connection whose client does not read. */
const downloadBytes = 32 * 1024 * 1024;
const downloadPauses = 20;
/** Minimum number of requests that are sent before the signal. */
const fewestRequests = 200;
/** Maximum number of repeated stops of a broken variant because the stopped replica got no requests. */
const mostIdleStops = 2;
const order = ["drain", "server", "intake", "work", "flush", "close", "done"];

function settingsOf({ variant, quick }: Run): ReplicaSettings {
  // The load balancer notices the stop within half a second; a machine busy with other tests may need more.
  const drainDelaySeconds = variant !== asBuilt ? 0 : quick ? 2 : 1;
  return { drainDelaySeconds, plain: variant === "broken-exit-at-once" };
}

/** Stops one of two replicas at a time, while a load balancer or a gateway sends requests to both. */
export const stopUnderLoad: Experiment = {
  name: "stop-under-load",
  description:
    "SIGTERM while 32 clients send requests through a load balancer or a gateway: no request may fail",
  brokenVariants: ["broken-no-drain-delay", "broken-exit-at-once", "broken-gateway-exit-at-once"],
  parts: ["balancer", "gateway"],
  async run(run, report) {
    const { only } = run;
    const isGateway = run.variant === "broken-gateway-exit-at-once";
    if (!isGateway && only !== "gateway") await runBalancerPart(run, report);
    if (isGateway || (run.variant === asBuilt && only !== "balancer")) await runGatewayPart(run, report);
  },
};

async function runBalancerPart(run: Run, report: Report): Promise<void> {
  await using stallMonitor = await startStallMonitor();
  const scene: Scene = { stallMonitor, run, report, discarded: 0 };
  await oneCase("keep-alive", true, scene);
  // One case is enough to show that a broken variant fails.
  if (run.quick && run.variant !== asBuilt) return;
  await oneCase("new connection each", false, scene);
}

interface Scene {
  readonly stallMonitor: StallMonitor;
  readonly run: Run;
  readonly report: Report;
  /** The number of stops whose results were discarded because the machine stalled: at most one per run. */
  discarded: number;
}

interface Stopped {
  readonly failures: readonly string[];
  /** Failures of requests that were in flight when the signal was sent. */
  readonly cutOff: readonly string[];
  readonly requests: number;
  readonly exitCode: number | null;
  readonly stopMs: number;
  readonly phases: string;
  /**
   * Milliseconds of the stalls that the stall monitor observed. During a stall, the load balancer does not notice the stop.
   */
  readonly stalledMs: number;
  /** The number of requests sent to the stopping replica after the signal. */
  readonly sentAfter: number;
}

async function oneCase(name: string, keepAlive: boolean, scene: Scene): Promise<void> {
  const { run, report } = scene;
  const given = settingsOf(run);
  const runs = run.runs ?? (run.quick ? 1 : 5);
  const stops: Stopped[] = [];
  const doubtful: Stopped[] = [];
  using balancer = createBalancer<ServiceProcess>(pollMs, propagationMs);
  let [staying, stopping] = await together([
    startService("replica.ts", given),
    startService("replica.ts", given),
  ]);
  try {
    balancer.add(staying);
    for (let idle = 0; stops.length < runs;) {
      balancer.add(stopping);
      const stopped = await stopOne(balancer, [staying, stopping], keepAlive, scene);
      const isIdle = idle < mostIdleStops && run.variant !== asBuilt && isUnasked(stopped);
      // Only one result is discarded per run: a second failed stop on a stalled machine counts.
      const isDiscarded = scene.discarded === 0 && isLateNews(stopped, run, given);
      if (isIdle) idle += 1;
      if (isDiscarded) scene.discarded += 1;
      const isDoubtful = isIdle || isDiscarded;
      (isDoubtful ? doubtful : stops).push(stopped);
      if (runs > 1 || isDoubtful)
        report.note(
          `${name}, stop ${stops.length}${isDoubtful ? ", repeated" : ""}: ` +
            `${stopped.failures.length + stopped.cutOff.length} failed, exit ${stopped.exitCode}`,
        );
      await stopping[Symbol.asyncDispose]();
      if (stops.length < runs) [staying, stopping] = [await startService("replica.ts", given), staying];
      balancer.add(staying);
    }
  } finally {
    await Promise.all([staying[Symbol.asyncDispose](), stopping[Symbol.asyncDispose]()]);
  }
  reportStops(name, stops, doubtful, report);
}

/** Returns whether a broken variant got hardly any requests when it was stopped, so that its fault could not show. */
function isUnasked({ failures, cutOff, sentAfter }: Stopped): boolean {
  // Each persistent connection may have received one more response.
  return failures.length + cutOff.length === 0 && sentAfter <= 2 * workers;
}

/**
 * Returns whether requests after the signal may have failed because a stalled load balancer noticed the stop too late.
 */
function isLateNews(
  { failures, stalledMs }: Stopped,
  { variant }: Run,
  { drainDelaySeconds }: ReplicaSettings,
): boolean {
  const roomMs = drainDelaySeconds * 1000 - pollMs - propagationMs[1];
  return variant === asBuilt && failures.length > 0 && stalledMs > roomMs / 2;
}

async function stopOne(
  balancer: Balancer<ServiceProcess>,
  [staying, stopping]: readonly [ServiceProcess, ServiceProcess],
  keepAlive: boolean,
  { stallMonitor, run: { quick } }: Scene,
): Promise<Stopped> {
  const slowMs = quick ? 1500 : 3000;
  const failures: string[] = [];
  const cutOff: string[] = [];
  const load = new AbortController();
  const begunAt = performance.now();
  let requests = 0;
  let pauseMs: number = quick ? quickPausesMs.calm : 0;
  let signalled = Number.POSITIVE_INFINITY;
  let sentAfter = 0;
  const count = (what: string, outcome: Outcome, good: boolean, failed = failures): void => {
    requests += 1;
    if (!good) failed.push(`${what}: ${outcome.error ?? outcome.status}`);
  };

  const agents = new Map<ServiceProcess, ReturnType<typeof keepAliveAgent>>();
  const agentOf = (replica: ServiceProcess): ReturnType<typeof keepAliveAgent> | false => {
    if (!keepAlive) return false;
    const agent = agents.get(replica) ?? keepAliveAgent(workers);
    agents.set(replica, agent);
    return agent;
  };
  const worker = async (): Promise<void> => {
    while (!load.signal.aborted) {
      const replica = balancer.pick();
      if (replica === undefined) {
        count("no replica", { status: 0, headers: {}, body: "", ms: 0, error: "no replica is ready" }, false);
        await delay(10);
        continue;
      }
      const startedAt = performance.now();
      const isStaying = replica === staying;
      if (!isStaying && startedAt > signalled) sentAfter += 1;
      const outcome = await send(replica.port, "/work", { agent: agentOf(replica) });
      count("work", outcome, outcome.status === 200, isStaying || startedAt > signalled ? failures : cutOff);
      const waitMs = outcome.status === 0 ? Math.max(pauseMs, 10) : pauseMs;
      if (waitMs > 0) await delay(waitMs);
    }
  };
  const working = Array.from({ length: workers }, worker);
  do await delay(500);
  while (requests < fewestRequests);
  if (quick) pauseMs = quickPausesMs.hurrying;
  await delay(hurriesBeforeMs - inFlightMs);

  const inFlight = [
    send(stopping.port, `/slow?ms=${slowMs}`).then((each) => {
      count("slow", each, each.status === 200, cutOff);
    }),
    send(stopping.port, "/upload", { method: "PUT", parts: parts(slowMs) }).then((each) => {
      count("upload", each, each.body === JSON.stringify({ bytes: uploadParts * partBytes }), cutOff);
    }),
    download(stopping.port, "/download", slowMs).then((bytes) => {
      requests += 1;
      if (bytes !== downloadBytes) cutOff.push(`download: cut off after ${bytes} bytes`);
    }),
  ];
  await delay(inFlightMs);
  signalled = performance.now();
  stopping.signal("SIGTERM");
  if (quick) setTimeout(() => (pauseMs = quickPausesMs.calm), hurriesAfterMs).unref();
  const exit = await Promise.race([stopping.exited, delay(30_000, undefined, { ref: false })]);
  balancer.remove(stopping);
  await Promise.all(inFlight);
  await delay(200);
  load.abort();
  await Promise.all(working);
  for (const agent of agents.values()) agent.destroy();
  return {
    failures,
    cutOff,
    requests,
    exitCode: exit?.code ?? null,
    stopMs: (exit?.at ?? Number.POSITIVE_INFINITY) - signalled,
    phases: phasesOf(stopping).join(" > "),
    stalledMs: stallMonitor.between(begunAt, performance.now()),
    sentAfter,
  };
}

/** Reads a response slowly, like a client with a slow connection; returns the number of received bytes. */
function download(port: number, path: string, ms: number): Promise<number> {
  return new Promise((resolve) => {
    const req = get({ host: "127.0.0.1", port, path, agent: false }, (res) => {
      let bytes = 0;
      let paused = 0;
      res.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes / downloadBytes < (paused + 1) / downloadPauses) return;
        paused += 1;
        res.pause();
        setTimeout(() => res.resume(), ms / downloadPauses);
      });
      res.on("error", () => undefined);
      res.on("close", () => resolve(bytes));
    });
    req.on("error", () => resolve(0));
  });
}

async function* parts(ms: number): AsyncIterable<Uint8Array> {
  for (let i = 0; i < uploadParts; i++) {
    yield new Uint8Array(partBytes);
    await delay(ms / uploadParts);
  }
}

function phasesOf({ lines }: ServiceProcess): readonly string[] {
  return lines.flatMap((line) => {
    const { message, phase } = JSON.parse(line) as { message?: string; phase?: string };
    return message === "stopping" && phase !== undefined ? [phase] : [];
  });
}

/**
 * Reports the results of all stops. For repeated stops (`doubtful`), counts only requests cut off at the signal, exit
 * codes and the order of phases.
 */
function reportStops(
  name: string,
  stops: readonly Stopped[],
  doubtful: readonly Stopped[],
  report: Report,
): void {
  const all = [...stops, ...doubtful];
  const failures = [...stops.flatMap((each) => each.failures), ...all.flatMap((each) => each.cutOff)];
  const times = stops.map((each) => each.stopMs);
  report.figure(name, "stops", stops.length, "count");
  report.figure(
    name,
    "requests",
    stops.reduce((sum, each) => sum + each.requests, 0),
    "count",
  );
  report.figure(name, "failed requests", failures.length, "count");
  report.figure(name, "exits with 0", stops.filter((each) => each.exitCode === 0).length, "count");
  report.figure(name, "signal to exit, median", quantile(times, 0.5), "ms");
  report.figure(name, "signal to exit, longest", Math.max(...times), "ms");
  const phases = [...new Set(all.map((each) => each.phases))];
  report.note(`${name}: stop phases ${phases.join(" | ")}`);
  report.rule(failures.length === 0, `${name}: no request fails (${tally(failures)})`);
  report.rule(
    all.every((each) => each.exitCode === 0),
    `${name}: every exit code is 0`,
  );
  report.rule(phases.length === 1 && phases[0] === order.join(" > "), `${name}: the phases run in order`);
}

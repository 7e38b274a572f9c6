import type { Behaviour } from "@svc/test-support/otlp";
import { setTimeout as delay } from "node:timers/promises";
import { keepAliveAgent, send } from "../harness/client.ts";
import type { ServiceProcess } from "../harness/service-process.ts";
import type { Accepted } from "../services/collector.ts";
import type { ExportFigures } from "../services/traced.ts";
import type { Load } from "./load.ts";
import { type Latency, latencyOf, stateIn } from "./rules.ts";

/** A fault of the collector. */
export interface Fault {
  readonly name: string;
  readonly behaviour: Behaviour;
  /** Whether batches fail. */
  readonly fails: boolean;
  /** Whether the collector accepts the spans of batches that fail. */
  readonly acceptsFailed: boolean;
  /** Number of concurrent requests that make the queue of spans overflow; 0 for none. */
  readonly burst: number;
}

/** A service under load, with its collector. */
export interface Scene {
  readonly service: ServiceProcess;
  readonly collector: ServiceProcess;
  readonly load: Load;
  readonly seconds: number;
  readonly exportTimeoutMs: number;
}

/** A round without a fault. */
export interface HealthyRound {
  readonly latency: Latency;
  /** Faults of responses. */
  readonly faults: readonly string[];
}

/** Counts taken while no span is queued, unless the service has lost some. */
export interface Totals {
  readonly requests: number;
  /** Spans that the requests created. */
  readonly spans: number;
  readonly exported: number;
  readonly dropped: number;
  readonly failedBatches: number;
}

/** A fault, and the time after it until no span was queued. */
export interface FaultRound extends HealthyRound {
  readonly fault: Fault;
  /** The counts since the previous fault round ended. */
  readonly counts: Totals;
  readonly end: Totals;
  /** Maximum number of spans that were neither exported nor dropped. */
  readonly mostQueued: number;
  /** The states in `/ready` during the fault. */
  readonly states: readonly string[];
  /** Statuses of `/ready` other than 200. */
  readonly unready: readonly string[];
  /** Whether batches were exported again after the fault. */
  readonly isHealed: boolean;
  /** Batches that failed after the fault had ended. */
  readonly failedAfter: number;
  readonly accepted: Accepted;
  /** The number of the latest request at the end of the fault. */
  readonly latest: number;
}

interface Watched {
  readonly states: readonly string[];
  readonly unready: readonly string[];
  readonly mostQueued: number;
}

const LOOK_MS = 100;
/** Milliseconds after which the service exports again, even if it has fewer spans than a batch. */
const EXPORT_EVERY_MS = 5000;
/** Milliseconds that the service may wait beyond its export timeout, and that `/ready` may report late. */
const GRACE_MS = 3000;
const LEAD_MS = 300;

/** Measures the load while the collector accepts spans. Leaves the load running. */
export async function healthyRound({ load, seconds }: Scene): Promise<HealthyRound> {
  load.resume();
  await delay(LEAD_MS);
  const { faults, latencies } = load.record();
  await delay(seconds * 1000);
  return { latency: latencyOf(latencies), faults: [...faults] };
}

/**
 * Measures the running load during a fault, ends the fault, and waits until no span is queued. Leaves the load paused.
 *
 * @param since the counts at the end of the previous round
 */
export async function faultRound(scene: Scene, fault: Fault, since: Totals): Promise<FaultRound> {
  const { collector, load } = scene;
  await collector.ask(fault.behaviour);
  const bursting = load.record();
  if (fault.burst > 0) await load.burst(fault.burst);
  const { faults, latencies } = load.record();
  const watched = await watchFault(scene, fault);
  const latency = latencyOf(latencies);

  const accepted = await collector.ask<Accepted>("accepted");
  const { latest } = load;
  const healed = await heal(scene);
  const end = await settle(scene);
  return {
    fault,
    latency,
    faults: [...bursting.faults, ...faults],
    counts: difference(end, since),
    end,
    ...watched,
    ...healed,
    accepted: sumOf(accepted, await collector.ask<Accepted>("accepted")),
    latest,
  };
}

/** Watches the fault for the duration of a round, and until `/ready` reports it. */
function watchFault(scene: Scene, { fails }: Fault): Promise<Watched> {
  const leastMs = scene.seconds * 1000;
  const mostMs = leastMs + scene.exportTimeoutMs + EXPORT_EVERY_MS + GRACE_MS;
  return watch(scene, (elapsedMs, states) => {
    return elapsedMs < leastMs || (fails && !states.has("failing") && elapsedMs < mostMs);
  });
}

async function watch(
  scene: Scene,
  isGoingOn: (elapsedMs: number, states: ReadonlySet<string>) => boolean,
): Promise<Watched> {
  const agent = keepAliveAgent(1);
  const states = new Set<string>();
  const unready: string[] = [];
  const begun = performance.now();
  let mostQueued = 0;
  while (isGoingOn(performance.now() - begun, states)) {
    const { spans } = scene.load;
    const { exported, dropped } = await exportsOf(scene);
    mostQueued = Math.max(mostQueued, spans - exported - dropped);
    const { status, state } = await readyOf(scene, agent);
    if (status === 200) states.add(state);
    else unready.push(String(status));
    await delay(LOOK_MS);
  }
  agent.destroy();
  return { states: [...states], unready, mostQueued };
}

async function heal(scene: Scene): Promise<Pick<FaultRound, "isHealed" | "failedAfter">> {
  const before = await exportsOf(scene);
  await scene.collector.ask("accept");
  const dueAt = performance.now() + scene.exportTimeoutMs + EXPORT_EVERY_MS + GRACE_MS;
  for (;;) {
    const now = await exportsOf(scene);
    const isHealed = now.exported > before.exported && stateOf(scene, now.detail) === "exporting";
    if (isHealed || performance.now() > dueAt)
      return { isHealed, failedAfter: now.failedBatches - before.failedBatches };
    await delay(LOOK_MS);
  }
}

/** Pauses the load, and waits until `/ready` accounts for all spans, or the service has had the time to export them. */
export async function settle(scene: Scene): Promise<Totals> {
  const { load } = scene;
  await load.pause();
  const dueAt = performance.now() + scene.exportTimeoutMs + EXPORT_EVERY_MS + GRACE_MS;
  for (;;) {
    const { exported, dropped, failedBatches } = await readyOf(scene, false);
    const { requests, spans } = load;
    if (exported + dropped === spans || performance.now() > dueAt)
      return { requests, spans, exported, dropped, failedBatches };
    await delay(LOOK_MS);
  }
}

function difference(end: Totals, start: Totals): Totals {
  return {
    requests: end.requests - start.requests,
    spans: end.spans - start.spans,
    exported: end.exported - start.exported,
    dropped: end.dropped - start.dropped,
    failedBatches: end.failedBatches - start.failedBatches,
  };
}

interface ReadyBody {
  readonly checks?: {
    readonly telemetry?: { readonly detail: string; readonly meta: Readonly<Record<string, number>> };
  };
}

async function readyOf(
  scene: Scene,
  agent: ReturnType<typeof keepAliveAgent> | false,
): Promise<ExportFigures & { readonly status: number; readonly state: string }> {
  const { status, body } = await send(scene.service.port, "/ready", { agent });
  const { checks } = status === 0 ? {} : (JSON.parse(body) as ReadyBody);
  const { detail = "", meta = {} } = checks?.telemetry ?? {};
  return {
    status,
    detail,
    state: stateOf(scene, detail),
    exported: meta["spans_exported"] ?? Number.NaN,
    dropped: meta["spans_dropped"] ?? Number.NaN,
    failedBatches: meta["batches_failed"] ?? Number.NaN,
  };
}

function stateOf({ collector }: Scene, detail: string): string {
  return stateIn(detail, `http://127.0.0.1:${collector.port}/v1/traces`);
}

function exportsOf({ service }: Scene): Promise<ExportFigures> {
  return service.ask<ExportFigures>("exports");
}

/** Adds the counts during a fault and after it. The lowest request number is the one after the fault. */
function sumOf(during: Accepted, after: Accepted): Accepted {
  return {
    spans: during.spans + after.spans,
    repeated: during.repeated + after.repeated,
    lowest: after.lowest,
    faults: [...during.faults, ...after.faults],
  };
}

import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../fuzz/random.ts";
import { send } from "../harness/client.ts";
import type { StopFigures } from "../services/traced.ts";
import { startTracedService, type TracedOptions, type TracedService } from "./traced-service.ts";

/** A stop of the service while its collector does not respond. */
export interface Stop extends StopFigures {
  readonly name: string;
  readonly requests: number;
  /** Spans that the requests created. */
  readonly spans: number;
  /** Faults of responses. */
  readonly faults: readonly string[];
}

/** The end of a service whose handler calls `process.exit()`. */
export interface SuddenExit {
  readonly requests: number;
  /** The result of the request to that handler. */
  readonly response: string;
  /** The exit code; undefined if the process did not exit in time. */
  readonly code: number | null | undefined;
  /** Milliseconds from the request to the exit. */
  readonly ms: number;
}

const LOAD_MS = 1000;
/** Time at which the collector is killed, in milliseconds after the stop began. */
const KILL_AFTER_MS = 500;
const EXIT_WITHIN_MS = 5000;

/** Stops a service whose load is paused. */
export async function stopAfter(name: string, { service, load }: TracedService): Promise<Stop> {
  const { requests, spans } = load;
  return { name, requests, spans, faults: [], ...(await service.ask<StopFigures>("stop")) };
}

/** Stops a service whose collector hangs, or hangs and is then killed. */
export async function stopWithout(
  end: "hangs" | "dies",
  options: TracedOptions,
  random: Random,
  perSecond: number,
): Promise<Stop> {
  await using traced = await startTracedService(options, random, perSecond);
  const { collector, load } = traced;
  const { faults } = load.record();
  await loadWithout(traced);
  const stopping = stopAfter(`${end} at the stop`, traced);
  await delay(KILL_AFTER_MS);
  if (end === "dies") collector.signal("SIGKILL");
  return { ...(await stopping), faults };
}

/** Sends a request to a handler that ends the process, while the collector hangs. */
export async function exitSuddenly(
  options: TracedOptions,
  random: Random,
  perSecond: number,
): Promise<SuddenExit> {
  await using traced = await startTracedService(options, random, perSecond);
  const { service, load } = traced;
  await loadWithout(traced);
  const begun = performance.now();
  const { status, error } = await send(service.port, "/exit");
  const exit = await Promise.race([service.exited, delay(EXIT_WITHIN_MS, undefined, { ref: false })]);
  return {
    requests: load.requests,
    response: error ?? String(status),
    code: exit?.code,
    ms: (exit?.at ?? performance.now()) - begun,
  };
}

/** Sends a load. The collector hangs from the middle of the load on. */
async function loadWithout({ collector, load }: TracedService): Promise<void> {
  load.resume();
  await delay(LOAD_MS);
  await collector.ask("hang");
  await delay(LOAD_MS);
  await load.pause();
}

import { InvalidUse } from "@svc/cli-options";
import { resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { type JobTable, optionsOf } from "../job-table.ts";
import { sending } from "../query.ts";
import { readySql } from "../sql/operator.ts";
import type { JobHandler, WorkerEvent } from "../worker/options.ts";
import { createWorker } from "../worker/worker.ts";

export interface Drained {
  done: number;
  failed: number;
  dead: number;
  released: number;
  lost: number;
}

export interface DrainSettings {
  readonly handlers: string;
  readonly concurrency: number | undefined;
  readonly watch: boolean;
}

/** Signals that end a drain early, gracefully or immediately. */
export interface Interruptions {
  readonly interrupted: AbortSignal;
  readonly insisted?: AbortSignal | undefined;
}

const POLL_MS = 50;
// After this much time without events, check whether the table has due jobs; a claim may still be in progress.
const QUIET_MS = 5 * POLL_MS;

/** Runs the jobs of a table until no job is due; with `watch`, until it is interrupted. */
export async function drain(
  table: JobTable,
  { handlers: file, concurrency, watch }: DrainSettings,
  { interrupted, insisted }: Interruptions,
): Promise<Drained> {
  const handlers = await handlersOf(file);
  const counts: Drained = { done: 0, failed: 0, dead: 0, released: 0, lost: 0 };
  let fault: unknown;
  let quietSince = performance.now();
  const onEvent = (event: WorkerEvent): void => {
    quietSince = performance.now();
    if (event.type === "fault") fault ??= event.error;
    else if (event.type === "lease_lost") counts.lost += 1;
    else if (event.type !== "claimed" && event.type !== "depth") counts[event.type] += 1;
  };
  const worker = createWorker({ table, handlers, concurrency, pollMs: watch ? 1000 : POLL_MS, onEvent });
  const isQuiet = (): boolean => worker.running === 0 && performance.now() - quietSince > QUIET_MS;
  // Fail early if the table does not exist.
  await table.stats();
  worker.start();
  while (!interrupted.aborted) {
    if (!watch && fault !== undefined) break;
    const nothing = !watch && isQuiet() && !(await isReady(table));
    await pause(POLL_MS, undefined, { signal: interrupted }).catch(() => undefined);
    // Check again: a job that was claimed before the query may have caused an event since.
    if (nothing && isQuiet()) break;
  }
  insisted?.addEventListener("abort", () => void worker.stop());
  const stopped = worker.stop();
  if (insisted?.aborted === true) void worker.stop();
  await stopped;
  if (!watch && fault !== undefined) throw fault;
  return counts;
}

async function isReady(table: JobTable): Promise<boolean> {
  const on = optionsOf("svc-jobs", table);
  const send = sending(on, "drain");
  return (await send<{ ready: boolean }>(readySql(on.quotedTable), []))[0]?.ready === true;
}

async function handlersOf(file: string): Promise<Readonly<Record<string, JobHandler>>> {
  let module: Readonly<Record<string, unknown>>;
  try {
    module = (await import(pathToFileURL(resolve(file)).href)) as Readonly<Record<string, unknown>>;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${file} could not be loaded: ${reason}`, { cause: error });
  }
  const { default: given, ...named } = module;
  // Ignore named exports that are not functions; a default export must contain only handlers.
  const functions = Object.entries(named).filter(([, value]) => typeof value === "function");
  const object = typeof given === "object" && given !== null ? Object.entries(given) : [];
  const wrong = object.find(([, value]) => typeof value !== "function");
  if (wrong !== undefined) throw invalidUse(`${file}: the handler for ${wrong[0]} must be a function`);
  const found = [...functions, ...object];
  if (found.length === 0)
    throw invalidUse(`${file} exports no handler; export a function with the name of its task`);
  return Object.fromEntries(found) as Readonly<Record<string, JobHandler>>;
}

function invalidUse(message: string): InvalidUse {
  return new InvalidUse("ERR_SVC_JOBS_USAGE", message);
}

import type { Middleware } from "@svc/context";
import { compose } from "./compose.ts";
import type { JobHandlers, JobSchedules, PluginParts, StopHook } from "./slots.ts";

type LayerSlot = "edge" | "identity" | "admission" | "behindBody" | "page";

/**
 * Merges the parts of two plugins, or of a plugin's `start()` and `finish()`. Parts of `one` come first in a request and in
 * every list. Both stop in the phase of `one`.
 */
export function mergeParts(one: PluginParts, other: PluginParts): PluginParts {
  const list = <T>(first: readonly T[] = [], second: readonly T[] = []): readonly T[] => [
    ...first,
    ...second,
  ];
  const layer = (slot: LayerSlot): Middleware | undefined => inTurn(one[slot], other[slot]);
  return {
    parts: { ...one.parts, ...other.parts },
    offers: { ...one.offers, ...other.offers },
    edge: layer("edge"),
    identity: layer("identity"),
    admission: layer("admission"),
    hasOwnLimits: either(one.hasOwnLimits, other.hasOwnLimits),
    behindBody: layer("behindBody"),
    page: layer("page"),
    routes: list(one.routes, other.routes),
    checks: list(one.checks, other.checks),
    schemas: list(one.schemas, other.schemas),
    work: list(one.work, other.work),
    handlers: { ...one.handlers, ...other.handlers },
    schedules: { ...one.schedules, ...other.schedules },
    info: infoOf(one.info, other.info),
    stop: stopOf(one.stop, other.stop),
    finish: finishOf(one.finish, other.finish),
  };
}

function inTurn(first: Middleware | undefined, second: Middleware | undefined): Middleware | undefined {
  return first === undefined || second === undefined ? (first ?? second) : compose([first, second]);
}

function either(
  first: PluginParts["hasOwnLimits"],
  second: PluginParts["hasOwnLimits"],
): PluginParts["hasOwnLimits"] {
  if (first === undefined || second === undefined) return first ?? second;
  return (req) => first(req) || second(req);
}

function infoOf(first: PluginParts["info"], second: PluginParts["info"]): PluginParts["info"] {
  if (first === undefined || second === undefined) return first ?? second;
  const valueOf = (info: NonNullable<PluginParts["info"]>) => (typeof info === "function" ? info() : info);
  return () => ({ ...valueOf(first), ...valueOf(second) });
}

function stopOf(first: PluginParts["stop"], second: PluginParts["stop"]): PluginParts["stop"] {
  if (first === undefined || second === undefined) return first ?? second;
  const stop: StopHook = async (signal) => {
    const ended = await Promise.allSettled([first, second].map(async ([, hook]) => hook(signal)));
    const errors = ended.flatMap((each) => (each.status === "rejected" ? [each.reason as unknown] : []));
    if (errors.length > 1) throw new AggregateError(errors, "several stop hooks failed");
    if (errors.length === 1) throw errors[0];
  };
  return [first[0], stop];
}

function finishOf(first: PluginParts["finish"], second: PluginParts["finish"]): PluginParts["finish"] {
  if (first === undefined || second === undefined) return first ?? second;
  return async (handlers: JobHandlers, schedules: JobSchedules) => {
    const made = await first(handlers, schedules);
    try {
      return mergeParts(made, await second(handlers, schedules));
    } catch (error) {
      await stopQuietly(made);
      throw error;
    }
  };
}

// The signal of a stop hook aborts after this many milliseconds. If the hook ignores the signal, the time limit of the
// start applies.
const STOP_MS = 5000;

/** Stops parts that the service never receives because a later plugin has failed. */
export async function stopQuietly({ stop }: PluginParts): Promise<void> {
  try {
    await stop?.[1](AbortSignal.timeout(STOP_MS));
  } catch {
    // Ignore: the failure of the later plugin is reported instead.
  }
}

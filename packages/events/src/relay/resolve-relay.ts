import { namesOf, optionError } from "@svc/options";
import { resolvedEvents } from "../events.ts";
import { accessOf } from "../outbox/outbox.ts";
import { type RelayOptions, relayOptions } from "../options.ts";

const BUS_SHARE = 0.25;

/** The options with all defaults applied. */
export type ResolvedRelay = ReturnType<typeof resolveRelay>;

/** @throws ConfigurationError */
export function resolveRelay(given: RelayOptions) {
  const options = relayOptions.resolve(given);
  const names = namesOf(given, relayOptions.subject);
  const access = accessOf(options.outbox);
  const events = resolvedEvents(options.events);
  if (access === undefined)
    throw optionError(names, "outbox", "must be the object returned by createOutbox()");
  if (events === undefined)
    throw optionError(names, "events", "must be the object returned by createEvents()");
  if (events.outbox !== options.outbox) {
    throw optionError(
      names,
      "events",
      "must write to this outbox, because the relay sends events only from this outbox",
    );
  }
  const leaseMs = options.leaseSeconds * 1000;
  return {
    ...options,
    access,
    events,
    leaseMs,
    busTimeoutMs: Math.min(options.busTimeoutMs, leaseMs * BUS_SHARE),
  };
}

import type { Logger } from "@svc/context";
import {
  ConfigurationError,
  func,
  integer,
  number,
  objectWith,
  optional,
  resolveOptions,
  withDefault,
} from "@svc/options";
import { resolvedEvents } from "../events.ts";
import type { ResolvedEvents } from "../options.ts";
import { accessOf, type Outbox, type OutboxAccess } from "../outbox/outbox.ts";

/** What a relay tells of what it does. */
export type RelayEvent =
  /** Events are on the bus and their jobs are queued. */
  | { readonly type: "relayed"; readonly ids: readonly string[] }
  /** An event was not taken, and will be tried again. `away`: the whole bus was not there. */
  | { readonly type: "failed"; readonly id: string; readonly error: unknown; readonly away: boolean }
  /** An event is not tried again. */
  | { readonly type: "dead"; readonly id: string; readonly error: unknown }
  /** Events were sent after their lease had ended: another relay sends them again. */
  | { readonly type: "lost"; readonly ids: readonly string[] }
  /** Events that were published long ago were deleted. */
  | { readonly type: "purged"; readonly count: number }
  /** The database did not do what it was asked; the relay goes on trying. */
  | { readonly type: "fault"; readonly error: unknown };

/** What {@link createRelay} takes. */
export interface RelayOptions {
  /** What `createOutbox()` answers. Required. */
  readonly outbox: Outbox;
  /** What `createEvents()` answers: whose subscribers get jobs, and which bus is told. Required. */
  readonly events: { readonly source: string };
  /** How many events are taken at a time, 1 to 500. Default: 100. */
  readonly batch?: number | undefined;
  /** Milliseconds between two looks at an outbox in which there was nothing. Default: 1,000. */
  readonly everyMs?: number | undefined;
  /** Seconds for which events are held (OUT-5), 2 to 3,600: half of it is for the bus. Default: 60. */
  readonly leaseSeconds?: number | undefined;
  /** How often an event is tried before it is dead, 1 to 1,000. A bus that is away kills none. Default: 20. */
  readonly maxAttempts?: number | undefined;
  /** Days after which published events are deleted; 0: never. Default: 7. */
  readonly purgeAfterDays?: number | undefined;
  /** Milliseconds that the bus may take for one call. Default: 10,000, a quarter of the lease at most. */
  readonly busTimeoutMs?: number | undefined;
  /** Milliseconds that a transaction may take. Default: 10,000. */
  readonly commandTimeoutMs?: number | undefined;
  /** Gets a line for every event that is dead, and when the bus or the database does not answer. Default: none. */
  readonly logger?: Logger | undefined;
  /** Is told what the relay does, for metrics. Default: nobody. */
  readonly onEvent?: ((event: RelayEvent) => void) | undefined;
}

/** The options with every default filled in. */
export interface ResolvedRelay {
  readonly outbox: Outbox;
  readonly access: OutboxAccess;
  readonly events: ResolvedEvents;
  readonly batch: number;
  readonly everyMs: number;
  readonly leaseMs: number;
  readonly maxAttempts: number;
  readonly purgeAfterDays: number;
  readonly busTimeoutMs: number;
  readonly commandTimeoutMs: number;
  readonly logger: Logger | undefined;
  readonly onEvent: ((event: RelayEvent) => void) | undefined;
}

const SUBJECT = "createRelay()";
const BUS_SHARE = 0.25;

/** @throws ConfigurationError */
export function resolveRelayOptions(given: RelayOptions): ResolvedRelay {
  const resolved = resolveOptions(SUBJECT, given, {
    outbox: objectWith<Outbox>("an outbox", "add", "readiness"),
    events: objectWith<RelayOptions["events"]>("what createEvents() answers"),
    batch: withDefault(integer({ min: 1, max: 500 }), 100),
    everyMs: withDefault(integer({ min: 5, max: 600_000 }), 1000),
    leaseSeconds: withDefault(number({ min: 2, max: 3600 }), 60),
    maxAttempts: withDefault(integer({ min: 1, max: 1000 }), 20),
    purgeAfterDays: withDefault(number({ min: 0, max: 3660 }), 7),
    busTimeoutMs: withDefault(integer({ min: 10, max: 600_000 }), 10_000),
    commandTimeoutMs: withDefault(integer({ min: 10, max: 600_000 }), 10_000),
    logger: optional(objectWith<Logger>("a logger", "info", "warn", "error")),
    onEvent: optional(func<(event: RelayEvent) => void>()),
  });
  const access = accessOf(resolved.outbox);
  const events = resolvedEvents(resolved.events);
  if (access === undefined) throw fault("outbox", "must be what createOutbox() answers");
  if (events === undefined) throw fault("events", "must be what createEvents() answers");
  if (events.outbox !== resolved.outbox) {
    throw fault("events", "must write to this outbox: nobody else would relay what they publish");
  }
  const leaseMs = resolved.leaseSeconds * 1000;
  return {
    ...resolved,
    access,
    events,
    leaseMs,
    busTimeoutMs: Math.min(resolved.busTimeoutMs, leaseMs * BUS_SHARE),
  };
}

function fault(key: string, message: string): ConfigurationError {
  return new ConfigurationError(SUBJECT, [{ key, message }]);
}

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

/** What `onEvent` receives. */
export type RelayEvent =
  /** Events were sent to the bus and their jobs were queued. */
  | { readonly type: "relayed"; readonly ids: readonly string[] }
  /** An event was not accepted and will be retried. `away`: the bus was unavailable. */
  | { readonly type: "failed"; readonly id: string; readonly error: unknown; readonly away: boolean }
  /** An event is dead and will not be retried. */
  | { readonly type: "dead"; readonly id: string; readonly error: unknown }
  /** Events were sent after their lease had expired: another relay sends them again. */
  | { readonly type: "lost"; readonly ids: readonly string[] }
  /** Old published events were deleted. */
  | { readonly type: "purged"; readonly count: number }
  /** The database failed; the relay retries. */
  | { readonly type: "fault"; readonly error: unknown };

/** Options of {@link createRelay}. */
export interface RelayOptions {
  /** The result of `createOutbox()`. Required. */
  readonly outbox: Outbox;
  /** The result of `createEvents()`: its subscribers get jobs, and its bus gets the events. Required. */
  readonly events: { readonly source: string };
  /** Events claimed at a time, 1 to 500. Default: 100. */
  readonly batch?: number | undefined;
  /** Milliseconds between two looks at an empty outbox. Default: 1,000. */
  readonly everyMs?: number | undefined;
  /** Seconds of an event's lease (OUT-5), 2 to 3,600; the bus may use half of it. Default: 60. */
  readonly leaseSeconds?: number | undefined;
  /** Attempts before an event is dead, 1 to 1,000; an outage of the bus makes no event dead. Default: 20. */
  readonly maxAttempts?: number | undefined;
  /** Days after which published events are deleted; 0 keeps them. Default: 7. */
  readonly purgeAfterDays?: number | undefined;
  /** Milliseconds for one call of the bus. Default: 10,000, but at most a quarter of the lease. */
  readonly busTimeoutMs?: number | undefined;
  /** Milliseconds for one transaction. Default: 10,000. */
  readonly commandTimeoutMs?: number | undefined;
  /** Logs every dead event, and failures of the bus or the database. Default: none. */
  readonly logger?: Logger | undefined;
  /** Receives every {@link RelayEvent}, for metrics. Default: none. */
  readonly onEvent?: ((event: RelayEvent) => void) | undefined;
}

/** The options with all defaults applied. */
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
    throw fault("events", "must write to this outbox, because this relay sends no other events");
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

import type { Logger } from "@svc/context";
import {
  defineOptions,
  func,
  inSeconds,
  integer,
  number,
  objectWith,
  optional,
  type OptionsOf,
  withDefault,
} from "@svc/options";
import type { Outbox } from "../outbox/outbox.ts";

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

const inTime = withDefault(integer({ min: 10, max: 600_000 }), 10_000);

export const relayOptions = defineOptions("createRelay()", {
  /** The result of `createOutbox()`. Required. */
  outbox: { kind: objectWith<Outbox>("an outbox", "add", "readiness") },
  /** The result of `createEvents()`, which must write to this outbox: its subscribers get jobs, its bus the events. Required. */
  events: { kind: objectWith<{ readonly source: string }>("what createEvents() answers") },
  /** Events claimed at a time, 1 to 500. Default: 100. */
  batch: { key: "relay_batch", kind: withDefault(integer({ min: 1, max: 500 }), 100) },
  /** Milliseconds between two polls of an empty outbox; events of the same process are seen at once. Default: 1,000. */
  everyMs: {
    key: "relay_every",
    kind: withDefault(integer({ min: 5, max: 600_000 }), 1000),
    inFile: {
      ...inSeconds(number({ min: 0.005, max: 600 })),
      toOption: (seconds: number) => Math.round(seconds * 1000),
    },
  },
  /** Seconds of an event's lease (OUT-5), 2 to 3,600; the bus may use half of it. Default: 60. */
  leaseSeconds: { key: "relay_lease", kind: withDefault(number({ min: 2, max: 3600 }), 60) },
  /** Attempts before an event is dead, 1 to 1,000; an outage of the bus makes no event dead. Default: 20. */
  maxAttempts: { key: "relay_max_attempts", kind: withDefault(integer({ min: 1, max: 1000 }), 20) },
  /** Days after which published events are deleted, checked once an hour; 0 keeps them. Default: 7. */
  purgeAfterDays: { key: "outbox_retention_days", kind: withDefault(number({ min: 0, max: 3660 }), 7) },
  /** Milliseconds for one call of the bus. Default: 10,000, but at most a quarter of the lease. */
  busTimeoutMs: { kind: inTime },
  /** Milliseconds for one transaction. Default: 10,000. */
  commandTimeoutMs: { kind: inTime },
  /** Logs every dead event, and failures of the bus or the database. Default: none. */
  logger: { kind: optional(objectWith<Logger>("a logger", "info", "warn", "error")) },
  /** Receives `relayed`, `failed`, `dead`, `lost`, `purged` and `fault`, for metrics. Default: none. */
  onEvent: { kind: optional(func<(event: RelayEvent) => void>()) },
});

/** Options of {@link createRelay}. */
export type RelayOptions = OptionsOf<typeof relayOptions>;

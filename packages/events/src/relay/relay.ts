import type { ReadinessCheck } from "@svc/context";
import { atMostEvery, createEmitter, DeadlineError, safeLogger } from "@svc/resilience";
import { isConnectionError, SqlDeadlineError } from "@svc/sql";
import { EventError } from "../errors.ts";
import { LEASE_EXPIRED } from "../outbox/sql.ts";
import { deliver, type Failure, type OutgoingEvent, outgoingEventOf } from "./deliver.ts";
import type { RelayEvent, RelayOptions } from "../options.ts";
import { createRelayStore, type Settled } from "./relay-store.ts";
import { resolveRelay } from "./resolve-relay.ts";

/** The counts of one pass over the outbox. */
export interface RelayPass {
  readonly claimed: number;
  readonly relayed: number;
  readonly failed: number;
  readonly dead: number;
}

/** Sends the events of an outbox. Any number of relays, in any number of processes, can share one table. */
export interface Relay extends AsyncDisposable {
  /**
   * Starts polling the outbox. Further calls do nothing.
   *
   * @throws Error after `stop()`
   */
  start(): void;
  /**
   * Stops at the end of the current pass: the bus gets at most about half a lease for the claimed events, and each
   * transaction at most `commandTimeoutMs`. A running `drainOnce()` ends after its current pass, but `stop()` does not
   * wait for it. Never rejects.
   */
  stop(): Promise<void>;
  /**
   * Relays until no event is due or the bus is unavailable, whether or not the relay was started. For scripts and tests.
   *
   * @throws Error after `stop()`
   */
  drainOnce(): Promise<RelayPass>;
  /** Returns the outbox's readiness check, `outbox`. */
  readiness(): ReadinessCheck;
}

interface Passed extends RelayPass {
  /** Whether more events may be due. */
  readonly more: boolean;
}

const isTimeout = (error: unknown): boolean =>
  error instanceof DeadlineError || error instanceof SqlDeadlineError;

const WARN_EVERY_MS = 10_000;
const PURGE_EVERY_MS = 3_600_000;
const MAX_PURGES = 100;
const BUS_SHARE = 0.5;

/**
 * Creates a relay. It claims events in batches under a lease, in order per key (OUT-5), and publishes them to the bus
 * without an open transaction. Then one transaction marks them as published and queues their subscribers' jobs. After a
 * crash in between, the events are sent again (OUT-1).
 *
 * @throws ConfigurationError
 */
export function createRelay(given: RelayOptions): Relay {
  const options = resolveRelay(given);
  const { outbox, access, events, batch, everyMs, leaseMs, busTimeoutMs, purgeAfterDays } = options;
  const logger = safeLogger(options.logger);
  const { emit } = createEmitter<RelayEvent>(options.onEvent, (suppressed, error) =>
    logger?.warn({ err: error, suppressed }, "an event listener threw an error"),
  );
  const store = createRelayStore(options);
  const warnFault = atMostEvery(WARN_EVERY_MS, (suppressed, error: unknown) =>
    logger?.warn({ err: error, suppressed }, "the outbox cannot be relayed: a database operation failed"),
  );
  // Warn, because a relay queues jobs only for its own service's subscribers: those of the other service miss the
  // event.
  const warnForeign = atMostEvery(WARN_EVERY_MS, (suppressed, source: string) =>
    logger?.warn(
      { source, of: events.source, table: outbox.name, suppressed },
      "the outbox has events of another service; every service needs its own outbox",
    ),
  );
  const warnFailed = atMostEvery(WARN_EVERY_MS, (suppressed, id: string, error: unknown) =>
    logger?.warn({ event_id: id, err: error, suppressed }, "an event was not accepted and will be retried"),
  );

  let nextKey = "";
  let away = false;
  let purgeAfter = -Infinity;
  let stopping = false;
  let running: Promise<void> | undefined;
  let wake: (() => void) | undefined;
  let isWoken = false;

  async function pass(): Promise<Passed> {
    // During an outage one event tests whether the bus is back.
    const limit = away ? 1 : batch;
    const claim = await store.claim(limit, nextKey);
    nextKey = claim.nextKey;
    for (const id of claim.exhausted)
      reportDead(id, new EventError("ERR_SVC_EVENT_UNDELIVERABLE", LEASE_EXPIRED));

    const outgoing: OutgoingEvent[] = [];
    const failures: Failure[] = [];
    for (const row of claim.rows) {
      try {
        const event = outgoingEventOf(row, events);
        outgoing.push(event);
        if (event.source !== events.source) warnForeign(event.source);
      } catch (error) {
        failures.push({ row, error, permanent: true });
      }
    }
    const deadlines = { callMs: busTimeoutMs, allMs: leaseMs * BUS_SHARE };
    const delivery = await deliver(events.bus, outgoing, deadlines);
    if (events.bus !== undefined && outgoing.length > 0) away = delivery.away;

    const settled = await settle(delivery.sent);
    if (settled.published.length > 0) emit({ type: "relayed", ids: settled.published });
    if (settled.lost.length > 0) emit({ type: "lost", ids: settled.lost });
    failures.push(...delivery.failed, ...settled.failed);
    const dead = new Set(await store.fail(failures, delivery.away));
    for (const { row, error } of failures) {
      if (dead.has(row.id)) {
        reportDead(row.id, error);
        continue;
      }
      warnFailed(row.id, error);
      emit({ type: "failed", id: row.id, error, away: delivery.away });
    }
    await store.release(delivery.skipped.map(({ row }) => row));
    return {
      claimed: claim.rows.length,
      relayed: settled.published.length,
      failed: failures.length - dead.size,
      dead: dead.size + claim.exhausted.length,
      more:
        !delivery.away &&
        (settled.published.length > 0 ||
          claim.rows.length >= limit ||
          claim.exhausted.length > 0 ||
          nextKey !== ""),
    };
  }

  async function settle(sent: readonly OutgoingEvent[]): Promise<Settled> {
    try {
      return await store.settle(sent);
    } catch (error) {
      // If the database rejects the statement, for example because a job table is missing, delay the events without
      // making them dead.
      if (!isConnectionError(error) && !isTimeout(error)) {
        const failures = sent.map(({ row }) => ({ row, error, permanent: false }));
        await store.fail(failures, true);
      }
      throw error;
    }
  }

  function reportDead(id: string, error: unknown): void {
    logger?.error({ event_id: id, err: error }, "an event is dead: it is not sent any more");
    emit({ type: "dead", id, error });
  }

  async function purge(): Promise<void> {
    if (purgeAfterDays === 0 || performance.now() < purgeAfter) return;
    purgeAfter = performance.now() + PURGE_EVERY_MS;
    let count = 0;
    for (let round = 0; round < MAX_PURGES && !stopping; round++) {
      const purged = await store.purge();
      count += purged;
      if (purged === 0) break;
    }
    if (count > 0) emit({ type: "purged", count });
  }

  function pause(): Promise<void> {
    if (stopping || isWoken) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, everyMs);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async function run(): Promise<void> {
    const unsubscribe = access.wakeup.onNotify(() => {
      isWoken = true;
      // During a bus outage, a new event does not end the pause.
      if (!away) wake?.();
    });
    while (!stopping) {
      isWoken = false;
      let more = false;
      try {
        ({ more } = await pass());
        await purge();
      } catch (error) {
        warnFault(error);
        emit({ type: "fault", error });
        isWoken = false;
      }
      if (away) isWoken = false;
      if (!more) await pause();
    }
    unsubscribe();
  }

  const relay: Relay = {
    start() {
      if (stopping) throw new Error("a stopped relay cannot start again: create a new one");
      running ??= run();
    },
    async stop() {
      stopping = true;
      wake?.();
      await running;
    },
    async drainOnce() {
      if (stopping) throw new Error("a stopped relay cannot relay events: create a new one");
      const total = { claimed: 0, relayed: 0, failed: 0, dead: 0 };
      for (let more = true; more && !stopping;) {
        const passed = await pass();
        total.claimed += passed.claimed;
        total.relayed += passed.relayed;
        total.failed += passed.failed;
        total.dead += passed.dead;
        more = passed.more;
      }
      return total;
    },
    readiness: () => outbox.readiness(),
    [Symbol.asyncDispose]: () => relay.stop(),
  };
  return relay;
}

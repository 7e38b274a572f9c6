import type { Logger } from "@svc/context";
import type { EventBus, Events, Inbox, Outbox } from "@svc/events";
import type { BackgroundPart } from "@svc/plugin";
import type { EventsSettings } from "./events-table.ts";
import { forgetting } from "./inbox-pruning.ts";
import type { JobDatabase } from "./job-code.ts";

/** The event parts of a worker process; undefined for a part that is not configured or was refused. */
export interface EventTools {
  readonly events: Events | undefined;
  readonly outbox: Outbox | undefined;
  readonly inbox: Inbox | undefined;
  readonly db: JobDatabase | undefined;
  readonly bus: EventBus | undefined;
  /** The consumer group, whose replicas share the events of the bus; undefined when this process consumes none. */
  readonly group: string | undefined;
}

/** Creates the background parts for events: the relay of the outbox, the consumer of the bus, and the pruning of the inbox. */
export async function eventWork(
  settings: EventsSettings,
  logger: Logger,
  { events, outbox, inbox, db, bus, group }: EventTools,
): Promise<readonly BackgroundPart[]> {
  const { createBusConsumer, createRelay } = await import("@svc/events");
  const work: BackgroundPart[] = [];
  if (outbox !== undefined && events !== undefined) {
    const relay = createRelay({
      outbox,
      events,
      batch: settings.relayBatch,
      everyMs: Math.round(settings.relayEverySeconds * 1000),
      leaseSeconds: settings.relayLeaseSeconds,
      maxAttempts: settings.relayMaxAttempts,
      purgeAfterDays: settings.outboxRetentionDays,
      logger,
    });
    work.push({ name: "relay", start: () => relay.start(), stop: () => relay.stop() });
  }
  if (group !== undefined && bus !== undefined && events !== undefined) {
    const concurrency = settings.consumeConcurrency;
    const consumer = createBusConsumer({ bus, events, group, concurrency, logger });
    work.push({ name: "bus consumer", start: () => consumer.start(), stop: () => consumer.stop() });
  }
  if (inbox !== undefined && db !== undefined && settings.inboxRetentionDays > 0) {
    work.push(forgetting(inbox, db, settings.inboxRetentionDays, logger));
  }
  return work;
}

import { atMostEvery, withDeadline } from "@svc/resilience";
import type { EventEnvelope } from "./envelope.ts";
import type { BusMessage } from "./event-bus.ts";
import type { EventsEvent, ResolvedEvents } from "./options.ts";
import { readEnvelope } from "./read-envelope.ts";
import { subscriberJobs } from "./subscriber-jobs.ts";
import { calm } from "./tell.ts";
import { isText } from "./text.ts";

const WARN_EVERY_MS = 10_000;

/** Makes what takes messages from a bus. */
export function createReceiver(
  options: ResolvedEvents,
  tell: (event: EventsEvent) => void,
): (message: BusMessage) => Promise<void> {
  const { source, table, subscriptions, topicPrefix, maxEventBytes, receiveTimeoutMs } = options;
  const logger = calm(options.logger);
  const warn = atMostEvery(WARN_EVERY_MS, (suppressed, topic: string, error: unknown) =>
    logger?.warn({ topic, err: error, suppressed }, "what came over the bus is no event, and was dropped"),
  );

  function drop(topic: string, error: unknown): void {
    warn(topic, error);
    tell({ type: "refused", topic, error });
  }

  return async function receive(message: BusMessage): Promise<void> {
    const topic = isText(message.topic, 500) ? message.topic : "";
    let event: EventEnvelope;
    try {
      event = readEnvelope(String(message.body), maxEventBytes);
    } catch (error) {
      drop(topic, error);
      return;
    }
    const own = event.source === source;
    const mine = own ? [] : (subscriptions.get(event.type) ?? []);
    if (mine.length > 0) {
      const jobs = subscriberJobs(mine, topic === "" ? topicPrefix + event.type : topic, event);
      try {
        await withDeadline(receiveTimeoutMs, async () => table?.enqueueMany(jobs));
      } catch (error) {
        // Nothing was sent: no job of the table can hold it, now or later.
        if (!isRefusedJob(error)) throw error;
        drop(topic, error);
        return;
      }
    }
    tell({ type: "received", event, jobs: mine.length, own });
  };
}

/** Whether a job table has refused a job for what it is. */
export function isRefusedJob(error: unknown): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === "ERR_SVC_JOB_ARGUMENT";
}

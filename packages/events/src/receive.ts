import type { NewJob } from "@svc/job-table";
import { atMostEvery, DeadlineError, safeLogger, withDeadline } from "@svc/resilience";
import { isConnectionError, sqlStateOf } from "@svc/sql";
import type { EventEnvelope } from "./envelope.ts";
import type { BusMessage } from "./event-bus.ts";
import type { EventsEvent, ResolvedEvents } from "./options.ts";
import { readEnvelope } from "./read-envelope.ts";
import { subscriberJobs } from "./subscriber-jobs.ts";
import { isText } from "./text.ts";

const WARN_EVERY_MS = 10_000;
// While the database hangs, each redelivery leaves a pending call in the pool; this bounds them.
const MAX_PENDING = 1000;

/** Creates the handler for messages from a bus. */
export function createReceiver(
  options: ResolvedEvents,
  emit: (event: EventsEvent) => void,
): (message: BusMessage) => Promise<void> {
  const { source, table, subscriptions, topicPrefix, maxEventBytes, receiveTimeoutMs } = options;
  const logger = safeLogger(options.logger);
  const warn = atMostEvery(WARN_EVERY_MS, (suppressed, topic: string, error: unknown) =>
    logger?.warn(
      { topic, err: error, suppressed },
      "dropped a message from the bus that is not a valid event",
    ),
  );

  let pending = 0;

  async function queue(jobs: readonly NewJob[]): Promise<void> {
    if (pending >= MAX_PENDING) throw new DeadlineError(receiveTimeoutMs);
    pending += 1;
    try {
      await table?.enqueueMany(jobs);
    } finally {
      pending -= 1;
    }
  }

  function drop(topic: string, error: unknown): void {
    warn(topic, error);
    emit({ type: "refused", topic, error });
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
        await withDeadline(receiveTimeoutMs, () => queue(jobs));
      } catch (error) {
        // A job that can never be stored would be redelivered forever and block its key.
        if (!isRefusedJob(error) && !isUnstorable(error)) throw error;
        drop(topic, error);
        return;
      }
    }
    emit({ type: "received", event, jobs: mine.length, own });
  };
}

/** Whether PostgreSQL cannot store the data: nested too deeply, or characters outside its encoding. */
function isUnstorable(error: unknown): boolean {
  return !isConnectionError(error) && /^(?:22|54)/.test(sqlStateOf(error) ?? "");
}

/** Whether a job table rejected the job itself. */
export function isRefusedJob(error: unknown): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === "ERR_SVC_JOB_ARGUMENT";
}

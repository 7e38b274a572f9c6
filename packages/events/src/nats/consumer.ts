import type { Consumer, ConsumerInfo } from "@nats-io/jetstream";
import { millis, nanos } from "@nats-io/transport-node";
import { createHash } from "node:crypto";
import { refused } from "../bus/event-bus-error.ts";
import { BROKER, isNoConsumer } from "./errors.ts";
import type { JetStream } from "./connection.ts";
import type { ResolvedNatsJetStream } from "./options.ts";

/** The durable consumer for one group and one topic. */
export interface BoundConsumer {
  readonly consumer: Consumer;
  /** Milliseconds after which the server redelivers an unacknowledged message. */
  readonly ackWaitMs: number;
  /** When the consumer was created, by the server's clock, in ISO 8601. */
  readonly createdAt: string;
}

// This limit is below the server's limit of 255 characters.
const LONGEST_NAME = 240;

/**
 * Returns the name of the durable consumer. A topic neither starts nor ends with a dot and has no two dots in a row, so
 * each pair of group and topic has a unique name.
 */
export function durableName(group: string, topic: string): string {
  const name = `${group}==${topic}`.replaceAll(".", "=");
  if (name.length <= LONGEST_NAME) return name;
  const digest = createHash("sha256").update(name).digest("hex").slice(0, 40);
  return `${name.slice(0, LONGEST_NAME - 41)}=${digest}`;
}

/**
 * Returns the durable consumer for a group and a topic, and creates it if it is missing. Each topic has its own
 * consumer, so that replicas with different topic lists do not change each other's consumers.
 *
 * @param since when the group's lost consumer was created; with `startFrom: "newest"`, the new consumer starts with messages
 *   from that time
 * @throws EventBusError `ERR_SVC_EVENT_BUS_REFUSED` when an existing consumer has incompatible settings
 */
export async function ensureConsumer(
  { manager, client }: JetStream,
  { stream, prefix, startFrom, ackWaitMs }: ResolvedNatsJetStream,
  group: string,
  topic: string,
  since?: string,
): Promise<BoundConsumer> {
  const name = durableName(group, topic);
  const subject = prefix + topic;
  const begin =
    since === undefined
      ? ({ deliver_policy: "new" } as const)
      : ({ deliver_policy: "by_start_time", opt_start_time: since } as const);
  const info = await found().catch((error: unknown) => {
    if (!isNoConsumer(error)) throw error;
    return manager.consumers.add(stream, {
      durable_name: name,
      filter_subject: subject,
      ack_policy: "explicit",
      ...(startFrom === "oldest" ? { deliver_policy: "all" } : begin),
      ack_wait: nanos(ackWaitMs),
      max_deliver: -1,
      max_ack_pending: 10_000,
    });
  });
  check(info, subject);
  return {
    consumer: client.consumers.getConsumerFromInfo(info),
    ackWaitMs: millis(info.config.ack_wait ?? nanos(30_000)),
    createdAt: info.created,
  };

  async function found(): Promise<ConsumerInfo> {
    return manager.consumers.info(stream, name);
  }
}

function check({ name, config }: ConsumerInfo, subject: string): void {
  const fault = [
    [config.filter_subject !== subject, `reads ${config.filter_subject ?? "everything"}, not ${subject}`],
    [config.ack_policy !== "explicit", `has the ack policy ${config.ack_policy}; it must be explicit`],
    [config.deliver_subject !== undefined, "is a push consumer; it must be a pull consumer"],
    [(config.max_deliver ?? -1) > 0, "limits deliveries (max_deliver), which loses messages"],
  ].find(([holds]) => holds === true);
  if (fault !== undefined) throw refused(BROKER, `the consumer ${name} ${String(fault[1])}`);
}

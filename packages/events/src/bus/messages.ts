import { ConfigurationError, type Fault, type Kind } from "@svc/options";
import type { BusMessage, ConsumeOptions } from "../event-bus.ts";
import { EventBusError } from "./event-bus-error.ts";

// A topic is valid as a Redis key, a NATS subject, a Kafka topic and a component of a file name.
const NAME = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/;
const TOPIC_LENGTH = 300;
const GROUP = /^[\w.-]{1,100}$/;
const ID_LENGTH = 255;
const KEY_LENGTH = 1000;

const WORDS = "words of letters, digits, _ and -, separated by single dots";

/**
 * A topic prefix, with the same characters as a topic. Without a trailing dot, its last word runs into the first word
 * of the event type.
 */
export const prefix: Kind<string> = {
  expects: `empty, or at most 64 characters: ${WORDS}; a trailing dot is allowed`,
  accepts: (value): value is string =>
    typeof value === "string" &&
    (value === "" || (value.length <= 64 && NAME.test(value.replace(/\.$/, "")))),
};

/** A topic that every bus accepts. */
export const topic: Kind<string> = {
  expects: `a topic of 1 to ${TOPIC_LENGTH} characters: ${WORDS}`,
  accepts: (value): value is string => whyNoTopic(value) === undefined,
};

function whyNoTopic(name: unknown): string | undefined {
  if (typeof name !== "string" || name === "") return "must be a non-empty string";
  if (name.length > TOPIC_LENGTH)
    return `must have at most ${TOPIC_LENGTH} characters; it has ${name.length}`;
  return NAME.test(name)
    ? undefined
    : `must consist of ${WORDS}; it is ${JSON.stringify(name.slice(0, 100))}`;
}

/**
 * Checks that every message can be published.
 *
 * @throws EventBusError `ERR_SVC_EVENT_BUS_MESSAGE`, naming the message and the fault
 */
export function checkMessages(messages: readonly BusMessage[], maxBodyBytes: number): void {
  for (const message of messages) {
    const fault = faultOf(message, maxBodyBytes);
    if (fault === undefined) continue;
    const { id } = message;
    const which = typeof id === "string" ? `message ${JSON.stringify(id.slice(0, 100))}` : "a message";
    throw new EventBusError("ERR_SVC_EVENT_BUS_MESSAGE", `${which} cannot be published: ${fault}`, message);
  }
}

function faultOf({ topic, id, key, body }: BusMessage, maxBodyBytes: number): string | undefined {
  const topicFault = whyNoTopic(topic);
  if (topicFault !== undefined) return `its topic ${topicFault}`;
  if (
    typeof id !== "string" ||
    id === "" ||
    id.length > ID_LENGTH ||
    /\p{Cc}/u.test(id) ||
    !id.isWellFormed()
  ) {
    return `its id must have 1 to ${ID_LENGTH} characters and no control characters`;
  }
  if (key !== null && (typeof key !== "string" || key.length > KEY_LENGTH || !key.isWellFormed())) {
    return `its key must be null or a string of at most ${KEY_LENGTH} characters`;
  }
  if (typeof body !== "string") return "its body must be a string";
  if (!body.isWellFormed()) return "its body contains an unpaired surrogate, which UTF-8 cannot encode";
  const bytes = Buffer.byteLength(body);
  return bytes > maxBodyBytes
    ? `its body has ${bytes} bytes; at most ${maxBodyBytes} are allowed`
    : undefined;
}

/** @throws ConfigurationError */
export function checkConsumption({ group, topics, handler, concurrency }: ConsumeOptions): void {
  const faults: Fault[] = [];
  const add = (key: string, message: string | undefined): void => {
    if (message !== undefined) faults.push({ key, message });
  };
  if (typeof group !== "string" || !GROUP.test(group))
    add("group", "must be 1 to 100 letters, digits, . _ or -");
  if (!Array.isArray(topics) || topics.length === 0) add("topics", "must be a list of at least one topic");
  else for (const topic of topics) add("topics", whyNoTopic(topic));
  if (typeof handler !== "function") add("handler", "must be a function");
  if (
    concurrency !== undefined &&
    !(Number.isSafeInteger(concurrency) && concurrency >= 1 && concurrency <= 1000)
  ) {
    add("concurrency", "must be a whole number from 1 to 1000");
  }
  if (faults.length > 0) throw new ConfigurationError("consume()", faults);
}

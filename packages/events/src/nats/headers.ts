import { headers, type MsgHdrs } from "@nats-io/transport-node";
import type { JsMsg } from "@nats-io/jetstream";
import type { BusMessage } from "../event-bus.ts";

const ID = "Nats-Msg-Id";
const KEY = "Event-Key";

/** Percent-encodes `%` and every character that is not visible ASCII, for use in a header. */
export function encoded(text: string): string {
  return text.replaceAll(/[^!-$&-~]/gu, (character) => encodeURIComponent(character));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Another publisher wrote the value without encoding it.
    return text;
  }
}

/** Returns a message's headers, without the id. */
export function headersOf({ key }: BusMessage): MsgHdrs {
  const made = headers();
  if (key !== null) made.set(KEY, encoded(key));
  return made;
}

/** Returns the published message; undefined for a message that a bus of this type did not write. */
export function messageOf(topic: string, from: JsMsg): BusMessage | undefined {
  const id = decoded(from.headers?.get(ID) ?? "");
  if (id === "") return undefined;
  const key = from.headers?.has(KEY) === true ? decoded(from.headers.get(KEY)) : null;
  return { topic, id, key, body: from.string() };
}

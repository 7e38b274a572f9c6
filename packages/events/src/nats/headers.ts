import { headers, type MsgHdrs } from "@nats-io/transport-node";
import type { JsMsg } from "@nats-io/jetstream";
import type { BusMessage } from "../event-bus.ts";

const ID = "Nats-Msg-Id";
const KEY = "Event-Key";

/** Encodes a text for a header line: percent-encodes everything that is not printable ASCII. */
export function encoded(text: string): string {
  return text.replaceAll(/[^!-$&-~]/gu, (character) => encodeURIComponent(character));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Another publisher wrote it unencoded.
    return text;
  }
}

/** Returns the headers of a message except its id. */
export function headersOf({ key }: BusMessage): MsgHdrs {
  const made = headers();
  if (key !== null) made.set(KEY, encoded(key));
  return made;
}

/** Returns the published message; undefined for a message that no bus of this kind wrote. */
export function messageOf(topic: string, from: JsMsg): BusMessage | undefined {
  const id = decoded(from.headers?.get(ID) ?? "");
  if (id === "") return undefined;
  const key = from.headers?.has(KEY) === true ? decoded(from.headers.get(KEY)) : null;
  return { topic, id, key, body: from.string() };
}

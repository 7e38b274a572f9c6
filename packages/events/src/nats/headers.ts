import { headers, type MsgHdrs } from "@nats-io/transport-node";
import type { JsMsg } from "@nats-io/jetstream";
import type { BusMessage } from "../event-bus.ts";

const ID = "Nats-Msg-Id";
const KEY = "Event-Key";

/** A text for a header, which is a line: percent-encoded where it is not printable ASCII. */
export function encoded(text: string): string {
  return text.replaceAll(/[^!-$&-~]/gu, (character) => encodeURIComponent(character));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Somebody else has written it as it is.
    return text;
  }
}

/** The headers of a message beside its id. */
export function headersOf({ key }: BusMessage): MsgHdrs {
  const made = headers();
  if (key !== null) made.set(KEY, encoded(key));
  return made;
}

/** The message as it was published; undefined when it is none of ours. */
export function messageOf(topic: string, from: JsMsg): BusMessage | undefined {
  const id = decoded(from.headers?.get(ID) ?? "");
  if (id === "") return undefined;
  const key = from.headers?.has(KEY) === true ? decoded(from.headers.get(KEY)) : null;
  return { topic, id, key, body: from.string() };
}

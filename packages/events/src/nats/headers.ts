import { headers, type MsgHdrs } from "@nats-io/transport-node";
import type { JsMsg } from "@nats-io/jetstream";
import type { BusMessage } from "../event-bus.ts";

const ID = "Nats-Msg-Id";
const KEY = "Event-Key";

/** The headers of a message beside its id: its key, percent-encoded, since headers are lines. */
export function headersOf({ key }: BusMessage): MsgHdrs {
  const made = headers();
  if (key !== null) made.set(KEY, encodeURIComponent(key));
  return made;
}

/** The message as it was published; undefined when it is none of ours. */
export function messageOf(topic: string, from: JsMsg): BusMessage | undefined {
  const id = from.headers?.get(ID) ?? "";
  if (id === "") return undefined;
  try {
    const key = from.headers?.has(KEY) === true ? decodeURIComponent(from.headers.get(KEY)) : null;
    return { topic, id, key, body: from.string() };
  } catch {
    return undefined;
  }
}

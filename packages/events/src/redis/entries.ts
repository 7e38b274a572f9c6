import type { BusMessage } from "../event-bus.ts";

/** A stream entry as Redis returns it: its id and a flat list of names and values. */
export interface Entry {
  readonly id: string;
  readonly fields: ReadonlyMap<string, string>;
}

/** Returns one stream's entries from a reply, without deleted entries. */
export function entriesOf(answer: unknown): readonly Entry[] {
  if (!Array.isArray(answer)) return [];
  return (answer as readonly unknown[]).flatMap((each) => {
    if (!Array.isArray(each)) return [];
    const [id, list] = each as readonly unknown[];
    if (typeof id !== "string" || !Array.isArray(list)) return [];
    const fields = new Map<string, string>();
    for (let at = 0; at + 1 < list.length; at += 2) fields.set(String(list[at]), String(list[at + 1]));
    return [{ id, fields }];
  });
}

/** Returns the streams in a reply to XREADGROUP. */
export function streamsOf(answer: unknown): readonly { readonly key: string; readonly entries: unknown }[] {
  if (!Array.isArray(answer)) return [];
  return (answer as readonly unknown[]).flatMap((each) =>
    Array.isArray(each) ? [{ key: String(each[0]), entries: each[1] as unknown }] : [],
  );
}

/** Returns an entry's message; undefined for an entry that a bus of this type did not write. */
export function messageOf(topic: string, { fields }: Entry): BusMessage | undefined {
  const id = fields.get("id");
  const body = fields.get("body");
  if (id === undefined || body === undefined) return undefined;
  return { topic, id, key: fields.get("key") ?? null, body };
}

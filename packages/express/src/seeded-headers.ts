import { OutgoingMessage, ServerResponse } from "node:http";

/** A header with a fixed value. */
export interface Header {
  readonly name: string;
  /** The name in lower case, as Node stores it. */
  readonly key: string;
  readonly value: string;
}

/** Returns a header with a fixed value. */
export function header(name: string, value: string): Header {
  return { name, key: name.toLowerCase(), value };
}

/**
 * The entry that Node stores for a header: name, value, and a third member that marks headers set by this package and
 * that Node ignores.
 */
type Stored = [name: string, value: unknown, isSeeded?: true];

// The private property in which a message stores its headers. If Node lacks it, headers are set in the normal way.
const store = Object.getOwnPropertySymbols(new OutgoingMessage()).find(
  ({ description }) => description === "kOutHeaders",
);

/**
 * Whether this version of Node stores headers where {@link seedHeaders} expects them; if false, it sets them in the
 * normal way.
 */
export const canSeedHeaders: boolean = store !== undefined;

/**
 * Sets headers that a response does not have yet. Skips Node's check of names and values, which would cost more per
 * response than all other work in the service. The values are fixed, so one check is enough.
 */
export function seedHeaders(res: ServerResponse, headers: readonly Header[]): void {
  const stored = storedIn(res);
  if (stored === undefined) {
    for (const { key, name, value } of headers) if (!res.hasHeader(key)) res.setHeader(name, value);
    return;
  }
  for (const { key, name, value } of headers) stored[key] ??= [name, value, true];
}

/** Returns whether a header is unchanged since {@link seedHeaders} set it. */
export function isSeeded(res: ServerResponse, { key, value }: Header): boolean {
  const stored = storedIn(res);
  if (stored === undefined) return res.getHeader(key) === value;
  return stored[key]?.[2] === true && stored[key][1] === value;
}

type SetHeader = ServerResponse["setHeader"];

// oxlint-disable-next-line typescript/unbound-method -- compared, never called
const nodeSetHeader: SetHeader = ServerResponse.prototype.setHeader;
// Compare the source: a tool may have replaced the method before this module was loaded.
const isNodes = store !== undefined && String(nodeSetHeader).includes("kOutHeaders");
const passOn = new WeakSet<SetHeader>();

/** Registers a `setHeader` from this package that passes most headers unchanged to Node's method. */
export function markAsPassingOn(setHeader: SetHeader): void {
  passOn.add(setHeader);
}

/**
 * Returns whether checked headers can be stored without calling `setHeader`, because it is Node's own method.
 *
 * @param beneath the prototype whose `setHeader` is called by this package's method
 */
export function canStoreHeaders(res: ServerResponse, beneath: ServerResponse): boolean {
  // oxlint-disable-next-line typescript/unbound-method -- compared, never called
  const { setHeader } = res;
  return (
    isNodes && beneath.setHeader === nodeSetHeader && (setHeader === nodeSetHeader || passOn.has(setHeader))
  );
}

/** Stores a header with a valid name and value. Call it only when {@link canStoreHeaders} returns true. */
export function storeHeader(res: ServerResponse, { key, name, value }: Header): void {
  const stored = storedIn(res);
  if (stored !== undefined) stored[key] = [name, value];
}

function storedIn(res: ServerResponse): Record<string, Stored> | undefined {
  if (store === undefined) return undefined;
  const message = res as unknown as Record<symbol, Record<string, Stored> | null>;
  return (message[store] ??= Object.create(null) as Record<string, Stored>);
}

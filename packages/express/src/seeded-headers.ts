import { OutgoingMessage, ServerResponse } from "node:http";

/** A header with a fixed value. */
export interface Header {
  readonly name: string;
  /** The name in lower case, as Node stores it. */
  readonly key: string;
  readonly value: string;
}

/** What Node stores of a header: its name and its value; the mark is ours, and Node does not read it. */
type Stored = [name: string, value: unknown, isSeeded?: true];

// Where a message stores its headers; this is not public, so its absence must not break anything.
const store = Object.getOwnPropertySymbols(new OutgoingMessage()).find(
  ({ description }) => description === "kOutHeaders",
);

/** Whether this version of Node stores headers where {@link seedHeaders} expects them. */
export const canSeedHeaders: boolean = store !== undefined;

/**
 * Sets headers that a response does not have yet. Node checks name and value of every header that is set, which costs
 * more per answer than all else that a service does; these have been checked once.
 */
export function seedHeaders(res: ServerResponse, headers: readonly Header[]): void {
  const stored = storedIn(res);
  if (stored === undefined) {
    for (const { key, name, value } of headers) if (!res.hasHeader(key)) res.setHeader(name, value);
    return;
  }
  for (const { key, name, value } of headers) stored[key] ??= [name, value, true];
}

/** Whether a header is as {@link seedHeaders} set it: neither set again, appended to, nor removed. */
export function isSeeded(res: ServerResponse, { key, value }: Header): boolean {
  const stored = storedIn(res);
  if (stored === undefined) return res.getHeader(key) === value;
  return stored[key]?.[2] === true && stored[key][1] === value;
}

type SetHeader = ServerResponse["setHeader"];

// oxlint-disable-next-line typescript/unbound-method -- compared, never called
const nodeSetHeader: SetHeader = ServerResponse.prototype.setHeader;
// A tool that replaced the method before this module was loaded left another source.
const isNodes = store !== undefined && String(nodeSetHeader).includes("kOutHeaders");
const passOn = new WeakSet<SetHeader>();

/** Records a method of this package that passes most headers on to Node's without a change. */
export function markAsPassingOn(setHeader: SetHeader): void {
  passOn.add(setHeader);
}

/**
 * Whether headers that need no check can be stored without `setHeader`, which is Node's then.
 *
 * @param beneath the prototype whose method one of this package passes headers on to
 */
export function canStoreHeaders(res: ServerResponse, beneath: ServerResponse): boolean {
  // oxlint-disable-next-line typescript/unbound-method -- compared, never called
  const { setHeader } = res;
  return (
    isNodes && beneath.setHeader === nodeSetHeader && (setHeader === nodeSetHeader || passOn.has(setHeader))
  );
}

/** Stores a header whose name and value are known to be valid. Only where {@link canStoreHeaders} says so. */
export function storeHeader(res: ServerResponse, { key, name, value }: Header): void {
  const stored = storedIn(res);
  if (stored !== undefined) stored[key] = [name, value];
}

function storedIn(res: ServerResponse): Record<string, Stored> | undefined {
  if (store === undefined) return undefined;
  const message = res as unknown as Record<symbol, Record<string, Stored> | null>;
  return (message[store] ??= Object.create(null) as Record<string, Stored>);
}

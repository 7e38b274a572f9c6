import { OutgoingMessage, ServerResponse } from "node:http";

type SetHeader = ServerResponse["setHeader"];

/** The entries that Node stores for the headers of a response, by name in lower case: name and value; Node ignores the rest. */
export type StoredHeaders = Record<string, [name: string, value: unknown, ...more: unknown[]]>;

// The private property in which a message stores its headers. If Node lacks it, headers are set in the normal way.
const store = Object.getOwnPropertySymbols(new OutgoingMessage()).find(
  ({ description }) => description === "kOutHeaders",
);

/** Returns the stored headers of a response; undefined if this version of Node stores them elsewhere. */
export function storedHeaders(res: ServerResponse): StoredHeaders | undefined {
  if (store === undefined) return undefined;
  const message = res as unknown as Record<symbol, StoredHeaders | null>;
  return (message[store] ??= Object.create(null) as StoredHeaders);
}

// oxlint-disable-next-line typescript/unbound-method -- compared, never called
const nodeSetHeader: SetHeader = ServerResponse.prototype.setHeader;
// Compare the source: a tool may have replaced the method before this module was loaded.
const isNodes = store !== undefined && String(nodeSetHeader).includes("kOutHeaders");

// If two copies of this package are installed, they share this symbol.
const PASSES_TO: unique symbol = Symbol.for("@svc/context/1/set-header-passes-to") as never;

/** A `setHeader` that passes most headers unchanged to another one. */
interface PassingOn {
  [PASSES_TO]?: () => Pick<ServerResponse, "setHeader">;
}

/** Registers a `setHeader` that passes most headers unchanged to the method of the object that `to` returns. */
export function markAsPassingOn(setHeader: SetHeader, to: () => Pick<ServerResponse, "setHeader">): void {
  (setHeader as PassingOn)[PASSES_TO] = to;
}

/**
 * Sets a header with a valid name and value, as `res.setHeader()` does, but without Node's check of both, which takes longer
 * than storing them. Calls `res.setHeader()` if another tool has replaced it, so that the tool sees the header.
 *
 * @param key the name in lower case
 */
export function setCheckedHeader(res: ServerResponse, key: string, name: string, value: string): void {
  const reachesNode = hasNodes(res) || hasNodes((res.setHeader as PassingOn)[PASSES_TO]?.());
  const stored = isNodes && reachesNode && !res.headersSent ? storedHeaders(res) : undefined;
  if (stored === undefined) res.setHeader(name, value);
  else stored[key] = [name, value];
}

function hasNodes(holder: Pick<ServerResponse, "setHeader"> | undefined): boolean {
  return holder?.setHeader === nodeSetHeader;
}

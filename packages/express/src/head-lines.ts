import { ServerResponse } from "node:http";

// What Node writes the head of a response with; not public, so its absence must cost speed and nothing else.
interface WithStoreHeader {
  _storeHeader?(firstLine: string, headers: unknown): void;
}
// oxlint-disable-next-line typescript/unbound-method -- called with the response as this
const storeHeader = (ServerResponse.prototype as WithStoreHeader)._storeHeader;

const LINES: unique symbol = Symbol("@svc/express/head-lines") as never;

interface WithLines extends ServerResponse {
  [LINES]?: string | undefined;
}

/** Whether the classes made by {@link acceptHeadLines} will do what they promise on this version of Node. */
export const canAddHeadLines: boolean = typeof storeHeader === "function";

/** Makes a class of responses take finished header lines. */
export function acceptHeadLines(prototype: ServerResponse): void {
  if (storeHeader === undefined) return;
  (prototype as WithLines)[LINES] = "";
  Object.defineProperty(prototype, "_storeHeader", {
    configurable: true,
    writable: true,
    value: function storeHeaderWithLines(this: WithLines, firstLine: string, headers: unknown): void {
      storeHeader.call(this, `${firstLine}${this[LINES]}`, headers);
    },
  });
}

/**
 * Puts finished header lines, each with its line break, in front of the other headers of a response whose head is
 * about to be written. For headers that are the same on every answer: Node would check each of them every time,
 * which costs more than all else that a service does. `getHeader` does not know them.
 *
 * @returns false when the response is of another class; nothing is added then
 */
export function addHeadLines(res: ServerResponse, lines: string): boolean {
  if ((res as WithLines)[LINES] === undefined) return false;
  (res as WithLines)[LINES] = lines;
  return true;
}

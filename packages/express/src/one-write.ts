import type { ServerResponse } from "node:http";
import type { ResponseLayer } from "./response-layer.ts";

/** Above this size, copying the bytes into a string costs more than a second buffer in the write. */
const largestBytes = 16 * 1024;

type End = (this: ServerResponse, ...args: unknown[]) => ServerResponse;

/**
 * Makes responses pass a small body to the system in one piece with its head. Node does so when the body
 * is text and gathers two buffers when it is bytes, as it is whenever Express makes an ETag; over a socket that
 * costs a quarter of what a small route costs. Latin-1 has one character for each byte, so the same bytes arrive.
 *
 * @returns the method `end` of these responses
 */
export function endInOneWrite({ define, inherited }: ResponseLayer): End {
  function end(this: ServerResponse, ...args: unknown[]): ServerResponse {
    const { end: original } = inherited() as unknown as { end: End };
    const [body] = args;
    if (!Buffer.isBuffer(body) || body.length > largestBytes || this.headersSent)
      return original.apply(this, args);
    return original.call(this, body.toString("latin1"), "latin1", args.findLast(isFunction));
  }
  define("end", end);
  return end;
}

function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

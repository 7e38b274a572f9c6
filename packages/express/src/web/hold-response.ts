import { silence } from "@svc/problem";
import type { ServerResponse } from "node:http";

// The methods that `silence()` replaces.
const methods = [
  "setHeader",
  "appendHeader",
  "setHeaders",
  "removeHeader",
  "writeHead",
  "flushHeaders",
  "writeContinue",
  "writeProcessing",
  "writeEarlyHints",
  "write",
  "end",
] as const;

/** A response that other code treats as sent. */
export interface HeldResponse {
  /** Whether the response is complete once its body is written. */
  readonly isEnded: boolean;
  /** Makes the response usable again, with the status that it had. */
  release(): void;
}

/**
 * Makes a response appear sent while its body is still being made. Without this, a handler that continues after its error
 * could send its own response in the meantime, with data that the error withholds.
 *
 * @param isEnded false if other code ends the response later, when the client has sent its whole request
 */
export function holdResponse(res: ServerResponse, isEnded: boolean): HeldResponse {
  const own = methods.map((name) => [name, Object.getOwnPropertyDescriptor(res, name)] as const);
  const { statusCode, statusMessage } = res;
  const held = { isEnded, release };
  res.end = () => {
    held.isEnded = true;
    return res;
  };
  silence(res);
  Object.defineProperty(res, "headersSent", { configurable: true, value: true });
  if (isEnded) Object.defineProperty(res, "writableEnded", { configurable: true, value: true });

  function release(): void {
    for (const [name, descriptor] of own) {
      Reflect.deleteProperty(res, name);
      if (descriptor !== undefined) Object.defineProperty(res, name, descriptor);
    }
    Reflect.deleteProperty(res, "headersSent");
    Reflect.deleteProperty(res, "writableEnded");
    res.statusCode = statusCode;
    res.statusMessage = statusMessage;
  }
  return held;
}

import type { ServerResponse } from "node:http";
import type { Readable } from "node:stream";

/**
 * Disables further calls on a response after other code, such as `sendProblem` at a limit or a deadline, has responded in
 * place of the handler. The handler still runs, and its later `res.json()` would throw "headers already sent", often outside
 * of any `catch`, and end the process. Callbacks passed to the response are still called.
 */
export function silence(res: ServerResponse): void {
  const end = res.end.bind(res);
  const itself = (): ServerResponse => res;
  res.setHeader = itself;
  res.appendHeader = itself;
  res.setHeaders = itself;
  res.removeHeader = () => undefined;
  res.writeHead = itself;
  res.flushHeaders = () => undefined;
  res.writeContinue = callBack;
  res.writeProcessing = callBack;
  res.writeEarlyHints = (...args: unknown[]) => callBack(...args);
  res.write = (...args: unknown[]) => {
    callBack(...args);
    return true;
  };
  res.end = (...args: unknown[]) => {
    // The response to a client that is still sending its request may be written but not yet ended.
    if (!res.writableEnded) end();
    callBack(...args);
    return res;
  };
  res.on("pipe", letGo);
}

function callBack(...args: unknown[]): void {
  const callback = args.find((each) => typeof each === "function");
  if (callback !== undefined) process.nextTick(callback);
}

// Destroy a source that is piped into the response: its output is discarded, and it may never end by itself.
function letGo(this: ServerResponse, source: Readable): void {
  source.unpipe(this);
  source.destroy();
}

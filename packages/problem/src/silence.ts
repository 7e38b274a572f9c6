import type { ServerResponse } from "node:http";
import type { Readable } from "node:stream";

/**
 * Makes further calls on a response have no effect, after other code has answered for its handler, for example
 * `sendProblem` at a limit or a deadline. The handler still runs, and its later `res.json()` would throw "headers already
 * sent", often outside of any `catch`, and end the process. Callbacks passed to the response are still called.
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
    // A problem to a client that is still sending is written but not ended yet.
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

// The output of a late `source.pipe(res)` is discarded, so stop the source, which may never end.
function letGo(this: ServerResponse, source: Readable): void {
  source.unpipe(this);
  source.destroy();
}

import type { ServerResponse } from "node:http";
import type { Readable } from "node:stream";

/**
 * Makes a response deaf that was answered over the head of its handler, by `sendProblem` at a limit or a deadline say.
 * The handler is still running and will answer some time: without this, that late `res.json()` would throw "headers
 * already sent" from wherever it is called, often outside of everything that catches, and end the process. Whoever waits
 * to be called back is called back.
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
    // A problem to a client that is still sending is ended by its author a little later; the body is out by then.
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

// Nobody reads what a late `source.pipe(res)` would send, and a source without end would never stop.
function letGo(this: ServerResponse, source: Readable): void {
  source.unpipe(this);
  source.destroy();
}

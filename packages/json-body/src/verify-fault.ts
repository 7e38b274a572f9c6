import type { IncomingMessage } from "node:http";
import { contextOf } from "@svc/context";
import { atMostEvery, type AtMostEveryOptions, errorFields, safeLogger } from "@svc/resilience";

const REPORT_EVERY_MS = 10_000;
const NAME = /^[A-Za-z][A-Za-z0-9_]{0,60}$/;
const MOST_FRAMES = 5;

/**
 * Returns a function that logs an error thrown by `verify`, at most once every ten seconds, to the logger of the request's
 * context. Without this line, a bug in `verify` or a missing secret would only show as a 403 for every request.
 */
export function verifyFaultLog(options?: AtMostEveryOptions): (req: IncomingMessage, error: unknown) => void {
  const report = atMostEvery(
    REPORT_EVERY_MS,
    (suppressed, req: IncomingMessage, error: unknown) => {
      const id = contextOf(req)?.requestId;
      const fields = { ...(id === undefined || id === "" ? {} : { request_id: id }), ...safeFields(error) };
      safeLogger(contextOf(req)?.log)?.error(
        { ...fields, suppressed },
        "the function `verify` of jsonBody() threw an error; the request was refused",
      );
    },
    options,
  );
  return (req, error) => {
    if (contextOf(req)?.log !== undefined) report(req, error);
  };
}

/**
 * Returns the name, the code and the first stack frames of an error. Omits the message, because it may quote the body or the
 * signature, as messages of `JSON.parse()` and of `node:crypto` do.
 */
function safeFields(error: unknown): Readonly<Record<string, string>> {
  try {
    const fields = Object.entries(errorFields(error)).filter(([, text]) => NAME.test(String(text)));
    const stack = framesOf(error);
    return { ...Object.fromEntries(fields), ...(stack === undefined ? {} : { stack }) };
  } catch {
    // A getter of the error threw.
    return {};
  }
}

function framesOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || typeof error.stack !== "string") return undefined;
  const { message, stack } = error;
  const head = message === "" ? "\n" : `: ${message}\n`;
  const at = stack.indexOf(head);
  // If code has changed `message`, the stack still has the original, so the position of the frames is unknown.
  const frames = at < 0 ? "" : stack.slice(at + head.length).trim();
  return frames.startsWith("at ") ? frames.split("\n", MOST_FRAMES).join("\n") : undefined;
}

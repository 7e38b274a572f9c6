import { codeOf, stopped, UpstreamError } from "./failures.ts";

/** Error codes of undici for a response that cannot be used. */
const INVALID = new Set([
  "UND_ERR_HEADERS_OVERFLOW",
  "UND_ERR_RES_CONTENT_LENGTH_MISMATCH",
  "UND_ERR_RES_EXCEEDED_MAX_SIZE",
  "UND_ERR_RESPONSE",
]);
const TIMEOUTS = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"]);
/** Error codes of undici after `close()` and `destroy()`, which only `stop()` calls. */
const STOPS = new Set(["UND_ERR_CLOSED", "UND_ERR_DESTROYED"]);

/** Returns whether an error means that the client is stopped. */
export function isStop(error: unknown): boolean {
  return STOPS.has(codeOf(error) ?? "");
}

/**
 * Classifies an error of the connection.
 *
 * @param hasBegun whether status and headers had arrived
 */
export function transportFailure(error: unknown, hasBegun: boolean): UpstreamError {
  if (error instanceof UpstreamError) return error;
  if (isStop(error)) return stopped();
  const code = codeOf(error) ?? "";
  if (TIMEOUTS.has(code))
    return new UpstreamError("timeout", "no data within the time limit", {
      cause: error,
      fault: "connection",
    });
  // The parser's error has no code. It must not be logged, because it contains data from the upstream.
  if (INVALID.has(code) || (error as Error).name === "HTTPParserError")
    return new UpstreamError("invalid", "the response is not valid HTTP", { fault: "response" });
  const kind = hasBegun ? "invalid" : "unavailable";
  const message = hasBegun ? "the response ended too early" : "no response";
  return new UpstreamError(kind, message, { cause: error, fault: "connection" });
}

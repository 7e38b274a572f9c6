import { withDeadline } from "./deadline.ts";
import { checkFunction, checkNames, checkNumber } from "./options.ts";

/** Limits of {@link boundedFetch}. */
export interface BoundedFetchOptions {
  /** Deadline in milliseconds for the request and the whole response; Infinity if `signal` sets the deadline. Required. */
  readonly timeoutMs: number;
  /** Maximum size of the response body in bytes, after decompression. Required. */
  readonly maxBytes: number;
  /** Whether redirects are followed. By default, a redirect is returned like any other response. Default: false. */
  readonly followRedirects?: boolean | undefined;
  /** Checks status and headers before the body is read; if it throws, the request is aborted. Default: none. */
  readonly accept?: ((response: Response) => void) | undefined;
  /** Aborts the request; the call then throws the signal's reason. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /** Replacement for `fetch`. Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

// `Uint8Array<ArrayBuffer>`, but TypeScript before 5.7 has no such type parameter.
type OwnBytes = ReturnType<typeof Uint8Array.from>;

/** A response with its complete body. */
export interface BoundedAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: OwnBytes;
}

/** Thrown for a response whose body exceeds `maxBytes`. */
export class AnswerTooLargeError extends RangeError {
  readonly code = "ERR_SVC_ANSWER_TOO_LARGE";

  /** @param maxBytes the limit */
  constructor(maxBytes: number) {
    super(`the response is larger than ${maxBytes} bytes`);
  }
}

/**
 * Sends a request and reads the whole response within one deadline and one size limit.
 *
 * @throws DeadlineError at the deadline; AnswerTooLargeError; the reason of `signal`; errors from `accept` and `fetch`
 * @throws OptionError
 */
export async function boundedFetch(
  url: string | URL,
  init: Omit<RequestInit, "signal" | "redirect">,
  options: BoundedFetchOptions,
): Promise<BoundedAnswer> {
  const subject = "boundedFetch()";
  checkNames(subject, options, ["timeoutMs", "maxBytes", "followRedirects", "accept", "signal", "fetch"]);
  const { timeoutMs, maxBytes, followRedirects = false, accept, signal, fetch = globalThis.fetch } = options;
  checkNumber(subject, "maxBytes", maxBytes, 0);
  checkFunction(subject, "accept", accept);
  checkFunction(subject, "fetch", options.fetch);
  const redirect = followRedirects ? "follow" : "manual";
  const run = async (ends: AbortSignal): Promise<BoundedAnswer> => {
    const response = await fetch(url, { ...init, redirect, signal: ends });
    try {
      accept?.(response);
      // In a response to HEAD, the headers describe a body that is not sent.
      if (response.body !== null && Number(response.headers.get("content-length") ?? 0) > maxBytes)
        throw new AnswerTooLargeError(maxBytes);
    } catch (error) {
      response.body?.cancel().catch(() => undefined);
      throw error;
    }
    return { status: response.status, headers: response.headers, body: await bytesOf(response, maxBytes) };
  };
  return withDeadline(timeoutMs, run, { signal });
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Parses a response body as JSON; undefined if it is malformed or not UTF-8. */
export function jsonOf(body: Uint8Array): unknown {
  try {
    // A decoder created for each body would take longer than the parsing of a short one.
    return JSON.parse(decoder.decode(body));
  } catch {
    return undefined;
  }
}

async function bytesOf(response: Response, maxBytes: number): Promise<OwnBytes> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  // An exception that leaves this loop cancels the stream and closes the connection.
  for await (const chunk of response.body ?? []) {
    length += chunk.byteLength;
    if (length > maxBytes) throw new AnswerTooLargeError(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}

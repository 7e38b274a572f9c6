import { Readable } from "node:stream";

/** The body of a call: `json` or `body`, not both. */
export interface CallBody {
  /** A value that is sent as JSON. Default: none. */
  readonly json?: unknown;
  /** A string, bytes, a form, or a stream. A call with a stream is never retried. Default: none. */
  readonly body?: string | Uint8Array | URLSearchParams | Readable | AsyncIterable<Uint8Array> | undefined;
}

/** A body as undici sends it. */
export interface SendableBody {
  readonly content: string | Uint8Array | Readable | null;
  readonly type: string | undefined;
  /** Whether the body can be sent again. */
  readonly isRepeatable: boolean;
}

const NONE: SendableBody = { content: null, type: undefined, isRepeatable: true };

/**
 * @throws TypeError when both members are set, when `json` has no JSON form, and for a body of another type or a stream that
 *   was already read
 */
export function bodyOf({ json, body }: CallBody): SendableBody {
  if (json !== undefined) {
    if (body !== undefined) throw new TypeError("a call has either json or body");
    return { content: jsonOf(json), type: "application/json", isRepeatable: true };
  }
  if (body === undefined) return NONE;
  if (typeof body === "string")
    return { content: body, type: "text/plain; charset=utf-8", isRepeatable: true };
  if (body instanceof URLSearchParams)
    return { content: String(body), type: "application/x-www-form-urlencoded", isRepeatable: true };
  if (body instanceof Uint8Array) return { content: body, type: undefined, isRepeatable: true };
  if (typeof (body as Partial<AsyncIterable<unknown>> | null)?.[Symbol.asyncIterator] !== "function") {
    throw new TypeError(
      "body must be a string, bytes, URLSearchParams or a stream; use json for other values",
    );
  }
  const content = body instanceof Readable ? body : Readable.from(body);
  // It would be sent as an empty body.
  if (content.readableEnded) throw new TypeError("the body of the call was already read to its end");
  return { content, type: undefined, isRepeatable: false };
}

function jsonOf(value: unknown): string {
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) throw new TypeError(`a value of type ${typeof value} cannot be sent as JSON`);
  return text;
}

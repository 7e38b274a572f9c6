import type { IncomingMessage } from "node:http";
import { describeGuard, type Middleware } from "@svc/context";
import { defineOptions, kinds as k, type OptionsOf } from "@svc/options";
import type { ProblemError } from "@svc/problem";
import { hasBody } from "./content-type.ts";
import { alreadyRead, tooLarge } from "./faults.ts";
import { bodyOf } from "./json-body.ts";
import { matcherOf, mediaTypes, wrongType } from "./media-types.ts";
import { readBody } from "./read-body.ts";
import { refusalByHeaders } from "./receive-body.ts";
import { inSameContext } from "./same-context.ts";

export const rawBodyOptions = defineOptions("rawBody()", {
  /** Maximum size of a body, in bytes as sent (LIM-1). Default: 2,097,152 (2 MiB). */
  maxBytes: { kind: k.withDefault(k.integer({ min: 1 }), 2 * 1024 * 1024) },
  /**
   * Accepted media types, lower case and without parameters; `image/*` and `application/*+json` are ranges. A body of
   * another type gets a 415. Default: every type.
   */
  types: { kind: k.optional(mediaTypes) },
  /**
   * What to do with a body that has a `Content-Encoding`; it is never decompressed. `refuse`: 415. `pass`: `req.body` has
   * the compressed bytes. Default: `refuse`.
   */
  compressed: { kind: k.withDefault(k.oneOf("refuse", "pass"), "refuse") },
});

/** Options of `rawBody()`. */
export type RawBodyOptions = OptionsOf<typeof rawBodyOptions>;

interface WithBody extends IncomingMessage {
  body?: Buffer;
  /** body-parser skips a request in which this is true. */
  _body?: boolean;
}

/**
 * Reads bodies of any type into `req.body`: a `Buffer` with the bytes as sent, empty for a request without a body. For
 * routes and prefixes whose signatures cover these bytes, such as webhooks. Mount it before other parsers; they ignore
 * what it has read. Keeps a `Buffer` that an earlier parser has read, if it is within the limits.
 *
 * Passes to `next`: 413 for a body that is too large, 415 for another type or a content encoding, 400 if the client
 * disconnects (ERR-18, LIM-1 to LIM-3), and 500 if earlier code has read the body into something other than a `Buffer`.
 *
 * @throws ConfigurationError for unknown or invalid options
 */
export function rawBody(options?: RawBodyOptions): Middleware {
  const { maxBytes, types, compressed } = rawBodyOptions.resolve(options);
  const accepts = types === undefined ? undefined : matcherOf(types);

  function refusalOf(req: IncomingMessage): ProblemError | undefined {
    if (types !== undefined && accepts?.(req.headers["content-type"]) === false) return wrongType(req, types);
    if (compressed === "refuse") return refusalByHeaders(req, { maxBytes, inflate: false }, undefined);
    return Number(req.headers["content-length"] ?? 0) > maxBytes ? tooLarge(maxBytes) : undefined;
  }

  function sizeFault(body: Buffer): ProblemError | undefined {
    return body.length > maxBytes ? tooLarge(maxBytes) : undefined;
  }

  function rawBodyMiddleware(req: WithBody, _res: unknown, next: (error?: unknown) => void): void {
    const isRead = req._body === true || req.readableDidRead || req.readableEnded;
    const earlier = isRead ? bodyOf(req) : undefined;
    if (Buffer.isBuffer(earlier)) {
      next(hasBody(req) ? (refusalOf(req) ?? sizeFault(earlier)) : undefined);
      return;
    }
    if (isRead) {
      if (hasBody(req)) next(alreadyRead("rawBody()"));
      else {
        req.body = EMPTY;
        next();
      }
      return;
    }
    // A request without a body is read to its end too: another parser may otherwise replace the Buffer.
    const refusal = hasBody(req) ? refusalOf(req) : undefined;
    if (refusal !== undefined) {
      next(refusal);
      return;
    }
    req._body = true;
    const proceed = inSameContext(req, next);
    readBody(req, maxBytes, (fault, bytes) => {
      if (fault === undefined) req.body = bytes;
      proceed(fault);
    });
  }

  return types === undefined ? rawBodyMiddleware : describeGuard("content-type", types, rawBodyMiddleware);
}

const EMPTY = Buffer.alloc(0);

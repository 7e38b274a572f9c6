import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { Middleware } from "@svc/context";
import { defineOptions, kinds as k, type OptionsOf } from "@svc/options";
import { hasBody, isInUtf8 } from "./content-type.ts";
import { malformed } from "./faults.ts";
import { matcherOf, mediaTypes } from "./media-types.ts";
import { receiveBody, refusalByHeaders } from "./receive-body.ts";
import { alsoAcceptTexts } from "./refuse-unread.ts";
import { inSameContext } from "./same-context.ts";

export const textBodyOptions = defineOptions("textBody()", {
  /** Maximum size of a text, in bytes, as sent and after inflation (LIM-1). Default: 2,097,152 (2 MiB). */
  maxBytes: { kind: k.withDefault(k.integer({ min: 1 }), 2 * 1024 * 1024) },
  /**
   * Media types that it reads, lower case and without parameters; `text/*` and `application/*+xml` are ranges. Other
   * types are left to other parsers. Default: `text/plain`.
   */
  types: { kind: k.withDefault(mediaTypes, ["text/plain"]) },
  /** Whether compressed texts are accepted: gzip, deflate, br and, if Node supports it, zstd. Default: true. */
  inflate: { kind: k.withDefault(k.boolean(), true) },
});

/** Options of `textBody()`. */
export type TextBodyOptions = OptionsOf<typeof textBodyOptions>;

interface WithBody extends IncomingMessage {
  body?: string;
  /** body-parser skips a request in which this is true. */
  _body?: boolean;
}

/**
 * Reads texts in UTF-8 into `req.body`: a string without a byte order mark, empty for an empty body. Ignores other types,
 * and bodies that other code has parsed or read. Mount it before `jsonBody()`.
 *
 * Passes to `next`: 413 for a text that is too large, 415 for another charset or an unknown content encoding, 400 for
 * bytes that are not UTF-8 (ERR-18, LIM-1 to LIM-3).
 *
 * @throws ConfigurationError for unknown or invalid options
 */
export function textBody(options?: TextBodyOptions): Middleware {
  const { types, ...limits } = textBodyOptions.resolve(options);
  const isText = matcherOf(types);
  const list = types.join(", ");

  function receive(req: WithBody, proceed: (error?: unknown) => void): void {
    receiveBody(req, limits.maxBytes, (fault, bytes) => {
      if (fault !== undefined) proceed(fault);
      else if (!isUtf8(bytes)) proceed(malformed("ERR_SVC_BODY_NOT_UTF8", "the body is not valid UTF-8"));
      else {
        req.body = decoder.decode(bytes);
        proceed();
      }
    });
  }

  return function textBodyMiddleware(req: WithBody, _res, next): void {
    const contentType = req.headers["content-type"];
    if (!isText(contentType)) {
      if (hasBody(req)) alsoAcceptTexts(req, list);
      next();
      return;
    }
    if (req._body === true || req.readableDidRead) {
      next();
      return;
    }
    const charset = isInUtf8(contentType ?? "") ? undefined : "the charset of a text must be utf-8";
    const refusal = refusalByHeaders(req, limits, charset);
    if (refusal !== undefined) {
      next(refusal);
      return;
    }
    req._body = true;
    receive(req, inSameContext(req, next));
  };
}

// TextDecoder removes a byte order mark.
const decoder = new TextDecoder();

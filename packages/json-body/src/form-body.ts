import type { IncomingMessage } from "node:http";
import type { Middleware } from "@svc/context";
import { defineOptions, kinds as k, type OptionsOf } from "@svc/options";
import { classifyForm, hasBody } from "./content-type.ts";
import { type FormFields, parseForm } from "./parse-form.ts";
import { receiveBody, refusalByHeaders } from "./receive-body.ts";
import { alsoAcceptForms } from "./refuse-unread.ts";
import { inSameContext } from "./same-context.ts";

export const formBodyOptions = defineOptions("formBody()", {
  /** Maximum size of a form, in bytes, as sent and after inflation (LIM-1). Default: 2,097,152 (2 MiB). */
  maxBytes: { kind: k.withDefault(k.integer({ min: 1 }), 2 * 1024 * 1024) },
  /** Maximum number of fields. Repeated names count. Default: 1,000. */
  maxFields: { kind: k.withDefault(k.integer({ min: 1 }), 1_000) },
  /** Whether compressed forms are accepted: gzip, deflate, br and, if Node supports it, zstd. Default: true. */
  inflate: { kind: k.withDefault(k.boolean(), true) },
});

/** Options of `formBody()`. */
export type FormBodyOptions = OptionsOf<typeof formBodyOptions>;

interface WithBody extends IncomingMessage {
  body?: FormFields;
  /** body-parser skips a request in which this is true. */
  _body?: boolean;
}

/**
 * Parses forms (`application/x-www-form-urlencoded`) into `req.body`: an object without a prototype, with a string for each
 * name, or a list of strings for a repeated name. Nothing is nested: `a[b]` is a name like any other. A form without fields
 * is an empty object. Ignores other types and bodies that other code has parsed or read. Mount it before `jsonBody()`.
 *
 * Passes to `next`: 413 for a form that is too large or has too many fields, 415 for another charset or an unknown content
 * encoding, 400 for bytes that are not a form in UTF-8, and for a field `__proto__` (ERR-18, LIM-1 to LIM-3).
 *
 * @throws ConfigurationError for unknown or invalid options
 */
export function formBody(options?: FormBodyOptions): Middleware {
  const { maxFields, ...limits } = formBodyOptions.resolve(options);

  function receive(req: WithBody, proceed: (error?: unknown) => void): void {
    receiveBody(req, limits.maxBytes, (fault, bytes) => {
      const parsed = fault === undefined ? parseForm(bytes, maxFields) : { fault };
      if ("fault" in parsed) proceed(parsed.fault);
      else {
        req.body = parsed.fields;
        proceed();
      }
    });
  }

  return function formBodyMiddleware(req: WithBody, _res, next): void {
    const kind = classifyForm(req.headers["content-type"]);
    if (kind === "other") {
      if (hasBody(req)) alsoAcceptForms(req);
      next();
      return;
    }
    if (req._body === true || req.readableDidRead) {
      next();
      return;
    }
    const charset = kind === "charset" ? "the charset of a form must be utf-8" : undefined;
    const refusal = refusalByHeaders(req, limits, charset);
    if (refusal !== undefined) {
      next(refusal);
      return;
    }
    req._body = true;
    receive(req, inSameContext(req, next));
  };
}

import { defineOptions, kinds as k, type OptionsOf } from "@svc/options";
import type { VerifyBody } from "./verify-body.ts";

export const jsonBodyOptions = defineOptions("jsonBody()", {
  /** Maximum size of a body, in bytes, as sent and after inflation (LIM-1). Default: 2,097,152 (2 MiB). */
  maxBytes: { kind: k.withDefault(k.integer({ min: 1 }), 2 * 1024 * 1024) },
  /** Maximum nesting depth of objects and arrays, 1 to 1,000. Default: 100. */
  maxDepth: { kind: k.withDefault(k.integer({ min: 1, max: 1_000 }), 100) },
  /** Whether compressed bodies are accepted: gzip, deflate, br and, if Node supports it, zstd. Default: true. */
  inflate: { kind: k.withDefault(k.boolean(), true) },
  /**
   * Whether the outermost value must be an object or an array. Set this to false only if the body is validated first,
   * because a handler that reads a member of `null` throws. Default: true.
   */
  strict: { kind: k.withDefault(k.boolean(), true) },
  /**
   * What to do with a body of another type. `leave`: `req.body` stays undefined. `refuse`: reading `req.body` in an
   * Express route handler throws a 415 problem, unless a parser has set it or other code reads the request. Default:
   * `leave`.
   */
  otherTypes: { kind: k.withDefault(k.oneOf("leave", "refuse"), "leave") },
  /**
   * `(req, res, bytes) => boolean` decides whether a body is authentic: called with the bytes as sent, before they are
   * inflated and parsed. Unless it returns true or a promise of true, the client gets a 403 problem. Default: none.
   */
  verify: { kind: k.optional(k.func<VerifyBody>()) },
});

/** Options of `jsonBody()`. */
export type JsonBodyOptions = OptionsOf<typeof jsonBodyOptions>;

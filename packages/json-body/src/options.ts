import { defineOptions, kinds as k, type OptionsOf } from "@svc/options";

export const jsonBodyOptions = defineOptions("jsonBody()", {
  /** The largest body, in bytes, as sent and after inflation (LIM-1). Default: 2,097,152 (2 MiB). */
  maxBytes: { kind: k.withDefault(k.integer({ min: 1 }), 2 * 1024 * 1024) },
  /** How deep objects and arrays may be nested, 1 to 1,000. Default: 100. */
  maxDepth: { kind: k.withDefault(k.integer({ min: 1, max: 1_000 }), 100) },
  /** Whether compressed bodies are accepted: gzip, deflate, br and, where Node has it, zstd. Default: true. */
  inflate: { kind: k.withDefault(k.boolean(), true) },
  /**
   * Whether the outermost value must be an object or an array. Set it to false only when the body is validated first: a
   * handler that reads a member of `null` throws. Default: true.
   */
  strict: { kind: k.withDefault(k.boolean(), true) },
  /**
   * The treatment of a body of another type. `leave`: `req.body` stays undefined. `refuse`: reading `req.body` in a handler of
   * an Express route throws a 415 problem, unless a parser has set it or other code reads the request. Default: `leave`.
   */
  otherTypes: { kind: k.withDefault(k.oneOf("leave", "refuse"), "leave") },
});

/** Options of `jsonBody()`. */
export type JsonBodyOptions = OptionsOf<typeof jsonBodyOptions>;

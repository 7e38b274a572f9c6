import { boolean, integer, oneOf, type OptionalKind, withDefault } from "@svc/options";

/** Options of `jsonBody()`. */
export interface JsonBodyOptions {
  /** The largest body, in bytes, as sent and after inflation (LIM-1). Default: 2,097,152 (2 MiB). */
  readonly maxBytes?: number | undefined;
  /** How deep objects and arrays may be nested, 1 to 1,000. Default: 100. */
  readonly maxDepth?: number | undefined;
  /** Whether compressed bodies are accepted: gzip, deflate, br and, where Node has it, zstd. Default: true. */
  readonly inflate?: boolean | undefined;
  /**
   * Whether the outermost value must be an object or an array. Set it to false only when the body is validated first: a
   * handler that reads a member of `null` throws. Default: true.
   */
  readonly strict?: boolean | undefined;
  /**
   * The treatment of a body of another type. `leave`: `req.body` stays undefined. `refuse`: reading `req.body` in a handler of
   * an Express route throws a 415 problem, unless a parser has set it or other code reads the request. Default: `leave`.
   */
  readonly otherTypes?: "leave" | "refuse" | undefined;
}

export const jsonBodyKinds: {
  readonly maxBytes: OptionalKind<number, number>;
  readonly maxDepth: OptionalKind<number, number>;
  readonly inflate: OptionalKind<boolean, boolean>;
  readonly strict: OptionalKind<boolean, boolean>;
  readonly otherTypes: OptionalKind<"leave" | "refuse", "leave" | "refuse">;
} = {
  maxBytes: withDefault(integer({ min: 1 }), 2 * 1024 * 1024),
  maxDepth: withDefault(integer({ min: 1, max: 1_000 }), 100),
  inflate: withDefault(boolean(), true),
  strict: withDefault(boolean(), true),
  otherTypes: withDefault(oneOf("leave", "refuse"), "leave"),
};

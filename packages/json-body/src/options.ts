import { boolean, integer, oneOf, type OptionalKind, withDefault } from "@svc/options";

/** Options of `jsonBody()`. */
export interface JsonBodyOptions {
  /** The largest body, in bytes, as sent and after inflation (LIM-1). Default: 2,097,152 (2 MiB). */
  readonly maxBytes?: number | undefined;
  /** How deep objects and arrays may be nested, 1 to 1,000. Default: 100. */
  readonly maxDepth?: number | undefined;
  /** Whether compressed bodies are taken: gzip, deflate, br and, where Node has it, zstd. Default: true. */
  readonly inflate?: boolean | undefined;
  /**
   * Whether the outermost value must be an object or an array. A handler that reads a member of `null` throws, so
   * switch it off only where the body is validated first. Default: true.
   */
  readonly strict?: boolean | undefined;
  /**
   * What becomes of a body of another type. `leave`: `req.body` stays undefined. `refuse`: a handler of an Express route that
   * reads `req.body` gets a 415 problem thrown while no parser has set it and nothing reads the request. Default: `leave`.
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

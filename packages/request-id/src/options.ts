import { ConfigurationError, boolean, func, optional, resolveOptions, withDefault } from "@svc/options";
import { isRequestId } from "@svc/context";

/** Options of `requestId()`. */
export interface RequestIdOptions {
  /**
   * Whether the caller's `X-Request-ID`, `traceparent` and `tracestate` are used. Set it to false for a service on the
   * open internet that accepts only its own ids. Default: true.
   */
  readonly trustIncoming?: boolean | undefined;
  /**
   * Makes the id of a request that came without one: 1 to 128 visible ASCII characters. The factory calls it once to check
   * it; an illegal id at a later call is replaced by a minted one. Default: `mintRequestId`.
   */
  readonly generate?: (() => string) | undefined;
}

/** @throws ConfigurationError for unknown or wrong options, and for a `generate` that returns an illegal id or throws */
export function readOptions(options: RequestIdOptions | undefined): {
  readonly trustIncoming: boolean;
  readonly generate: (() => string) | undefined;
} {
  const resolved = resolveOptions("requestId()", options, {
    trustIncoming: withDefault(boolean(), true),
    generate: optional(func<() => string>()),
  });
  if (resolved.generate !== undefined) checkGenerate(resolved.generate);
  return resolved;
}

function checkGenerate(generate: () => string): void {
  const wanted = "must make ids of 1 to 128 visible ASCII characters without a space";
  let id: unknown;
  try {
    id = generate();
  } catch (cause) {
    throw new ConfigurationError("requestId()", [{ key: "generate", message: `${wanted}; it threw` }], {
      cause,
    });
  }
  if (isRequestId(id)) return;
  const made = typeof id === "string" ? JSON.stringify(id.slice(0, 80)) : typeof id;
  throw new ConfigurationError("requestId()", [{ key: "generate", message: `${wanted}; it made ${made}` }]);
}

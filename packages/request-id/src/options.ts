import {
  type ConfigurationError,
  defineOptions,
  kinds as k,
  namesOf,
  optionError,
  type OptionsOf,
  type ResolvedOptions,
} from "@svc/options";
import { isRequestId } from "@svc/context";

const requestIdOptions = defineOptions("requestId()", {
  /**
   * Whether the caller's `X-Request-ID`, `traceparent` and `tracestate` are used. Set it to false for a service on the
   * open internet that accepts only its own ids. Default: true.
   */
  trustIncoming: { kind: k.withDefault(k.boolean(), true) },
  /**
   * Creates the id of a request that came without one: 1 to 128 visible ASCII characters. The factory calls it once as a
   * check; if a later call returns an illegal id, a minted id replaces it. Default: `mintRequestId`.
   */
  generate: { kind: k.optional(k.func<() => string>()) },
});

/** Options of `requestId()`. */
export type RequestIdOptions = OptionsOf<typeof requestIdOptions>;

/** @throws ConfigurationError for unknown or invalid options, or a `generate` that returns an illegal id or throws */
export function readOptions(
  options: RequestIdOptions | undefined,
): ResolvedOptions<(typeof requestIdOptions)["keys"]> {
  const resolved = requestIdOptions.resolve(options);
  const wrong = (found: string, errorOptions?: ErrorOptions): ConfigurationError => {
    const message = `must return ids of 1 to 128 visible ASCII characters without spaces; ${found}`;
    return optionError(namesOf(options, requestIdOptions.subject), "generate", message, errorOptions);
  };
  if (resolved.generate === undefined) return resolved;
  let id: unknown;
  try {
    id = resolved.generate();
  } catch (cause) {
    throw wrong("it threw", { cause });
  }
  if (isRequestId(id)) return resolved;
  throw wrong(`it returned ${typeof id === "string" ? JSON.stringify(id.slice(0, 80)) : typeof id}`);
}

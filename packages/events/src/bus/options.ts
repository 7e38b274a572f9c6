import type { Logger } from "@svc/context";
import {
  ConfigurationError,
  integer,
  type Kind,
  number,
  objectWith,
  oneOf,
  optional,
  type OptionalKind,
  withDefault,
} from "@svc/options";

/** Options that every bus of this package takes. */
export interface BusOptions {
  /** Milliseconds that publishing and starting a consumption may take. Default: 5,000. */
  readonly timeoutMs?: number | undefined;
  /** Messages that a consumption fetches in advance. Default: 32, or its concurrency if that is higher. */
  readonly prefetch?: number | undefined;
  /** Where a new group starts: with the oldest stored message or with the next one published. Default: `oldest`. */
  readonly startFrom?: "oldest" | "newest" | undefined;
  /** Milliseconds to pause after a handler's first rejection; doubles with each further one. Default: 200. */
  readonly retryBaseMs?: number | undefined;
  /** The longest pause after a rejection, in milliseconds. Default: 30,000. */
  readonly retryMaxMs?: number | undefined;
  /** Milliseconds that `stop()` and `close()` wait for running handlers. Default: 30,000. */
  readonly stopTimeoutMs?: number | undefined;
  /** Reports lost and restored connections; a logger given to `consume` takes precedence. Default: none. */
  readonly logger?: Logger | undefined;
}

type BusKinds = {
  readonly [N in Exclude<keyof BusOptions, "logger">]-?: OptionalKind<
    NonNullable<BusOptions[N]>,
    NonNullable<BusOptions[N]>
  >;
} & { readonly logger: OptionalKind<Logger, undefined> };

/** The options that the base of all buses uses, with all defaults applied. */
export interface ResolvedBus {
  readonly timeoutMs: number;
  readonly prefetch: number;
  readonly startFrom: "oldest" | "newest";
  readonly retryBaseMs: number;
  readonly retryMaxMs: number;
  readonly stopTimeoutMs: number;
  readonly maxBodyBytes: number;
  readonly logger: Logger | undefined;
}

export const milliseconds: Kind<number> = number({ min: 10, max: 86_400_000 });

/** Option kinds for `resolveOptions`; each broker adds its own. */
export const busKinds: BusKinds = {
  timeoutMs: withDefault(milliseconds, 5000),
  prefetch: withDefault(integer({ min: 1, max: 10_000 }), 32),
  startFrom: withDefault(oneOf("oldest", "newest"), "oldest"),
  retryBaseMs: withDefault(milliseconds, 200),
  retryMaxMs: withDefault(milliseconds, 30_000),
  stopTimeoutMs: withDefault(milliseconds, 30_000),
  logger: optional(objectWith<Logger>("a logger", "info", "warn", "error")),
};

/** @throws ConfigurationError when the longest pause is shorter than the first */
export function checkPauses(
  subject: string,
  { retryBaseMs, retryMaxMs }: { readonly retryBaseMs: number; readonly retryMaxMs: number },
): void {
  if (retryMaxMs >= retryBaseMs) return;
  throw new ConfigurationError(subject, [
    { key: "retryMaxMs", message: "must not be less than retryBaseMs" },
  ]);
}

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

/** What every bus of this package takes, whatever its broker. */
export interface BusOptions {
  /** How long publishing may take, and making a consumption, in milliseconds. Default: 5,000. */
  readonly timeoutMs?: number | undefined;
  /** How many messages a consumption takes in advance. Default: 32, or its concurrency where that is more. */
  readonly prefetch?: number | undefined;
  /** Where a group begins that did not exist: with what is still there, or with what comes. Default: `oldest`. */
  readonly startFrom?: "oldest" | "newest" | undefined;
  /** The pause after the first rejection of a handler, in milliseconds; it doubles each time. Default: 200. */
  readonly retryBaseMs?: number | undefined;
  /** The longest pause after a rejection, in milliseconds. Default: 30,000. */
  readonly retryMaxMs?: number | undefined;
  /** How long `stop()` and `close()` wait for handlers that run, in milliseconds. Default: 30,000. */
  readonly stopTimeoutMs?: number | undefined;
  /** Told of a broker that went away or came back; a logger given to `consume` has precedence. Default: nobody. */
  readonly logger?: Logger | undefined;
}

type BusKinds = {
  readonly [N in Exclude<keyof BusOptions, "logger">]-?: OptionalKind<
    NonNullable<BusOptions[N]>,
    NonNullable<BusOptions[N]>
  >;
} & { readonly logger: OptionalKind<Logger, undefined> };

export const milliseconds: Kind<number> = number({ min: 10, max: 86_400_000 });

/** For `resolveOptions`, beside the kinds of one broker. */
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

import type { Logger } from "@svc/context";
import { defineOptions, environmentHint, kinds as k, type OptionsOf } from "@svc/options";

/** A destination that pino can write to. `line` ends in a newline. */
export interface LineDestination {
  write(line: string): void;
}

/** The possible levels of an access log record. */
export type AccessLevel = "debug" | "info" | "warn" | "error";

const names: Readonly<Record<string, string>> = {
  trace: "trace",
  debug: "debug",
  info: "info",
  warn: "warn",
  warning: "warn",
  error: "error",
  fatal: "fatal",
  critical: "fatal",
  silent: "silent",
};

const level: k.Kind<string> = {
  expects: `one of ${Object.keys(names).join(", ")}, in upper or lower case`,
  accepts: (value): value is string => typeof value === "string" && Object.hasOwn(names, value.toLowerCase()),
};

// Allow other names, but reject the words of NODE_ENV, so that no environment appears in the log under two names.
const env: k.Kind<string> = {
  expects: "the name of an environment, such as local, dev, staging or prod",
  accepts: (value): value is string =>
    typeof value === "string" && value !== "" && environmentHint(value) === undefined,
  hint: environmentHint,
};

export const loggerOptions = defineOptions("createLogger()", {
  /** The service's name, on every line (ENV-1). Required. */
  service: { kind: k.string() },
  /** The environment, on every line; not a value of NODE_ENV (`production`, `development`, `test`). Required. */
  env: { kind: env },
  /** The service's version, on every line if set. Default: none. */
  version: { kind: k.optional(k.string()) },
  /**
   * The lowest level to write: trace, debug, info, warn (or warning), error, fatal (or critical) or silent, in upper or
   * lower case. Default: `"INFO"`.
   */
  level: { kind: k.withDefault(level, "INFO") },
  /** Whether to write JSON lines; false writes human-readable text (LOG-6). Default: true. */
  json: { kind: k.withDefault(k.boolean(), true) },
  /** Where the lines go. Default: one destination for standard output, shared by all loggers of the process. */
  destination: { kind: k.optional(k.objectWith<LineDestination>("a destination", "write")) },
  /**
   * Additional names of fields with secret values; case, `-` and `_` are ignored, and a name also covers longer names that
   * end in it. Default: `[]`; the built-in names are always covered.
   */
  redact: {
    kind: k.withDefault(
      k.listOf(
        k.string({ pattern: /^[\w.-]{1,100}$/, expects: "a field name of letters, digits, _, - and ." }),
      ),
      [],
    ),
  },
});

/** Options of {@link createLogger}. */
export type LoggerOptions = OptionsOf<typeof loggerOptions>;

/** Returns pino's name for a level. */
export function pinoLevel(given: string): string {
  return names[given.toLowerCase()] ?? "info";
}

export const accessLogOptions = defineOptions("accessLog()", {
  /** The logger from `createLogger()`, another pino logger, or an object with the same methods. Required. */
  logger: { kind: k.objectWith<Logger>("a logger", "debug", "info", "warn", "error") },
  /** The level of the access lines. Default: `"info"`. */
  level: { kind: k.withDefault(k.oneOf("debug", "info", "warn", "error"), "info") },
  /** Exact paths with access lines at debug level, for example `["/health"]`. Default: `[]`. */
  quietPaths: {
    key: "quiet_paths",
    kind: k.withDefault(k.listOf(k.string({ pattern: /^\//, expects: "a path that starts with /" })), []),
  },
});

export const pinoHttpLogOptions = defineOptions("pinoHttpOptions()", accessLogOptions.keys);

/** Options of {@link accessLog}. */
export type AccessLogOptions = OptionsOf<typeof accessLogOptions>;

export const destinationOptions = defineOptions("createDestination()", {
  /** The open file descriptor to write to. Default: 1, standard output. */
  fd: { kind: k.withDefault(k.integer({ min: 0 }), 1) },
  /** Maximum number of bytes to queue for a reader that does not read; further lines are dropped. Default: 8 MiB. */
  maxQueuedBytes: { kind: k.withDefault(k.integer({ min: 1024 }), 8 * 1024 * 1024) },
  /** How long an exiting process waits for such a reader, in milliseconds. Default: 1000. */
  exitWaitMs: { kind: k.withDefault(k.integer({ min: 0, max: 60_000 }), 1000) },
});

/** Options of {@link createDestination}. */
export type DestinationOptions = OptionsOf<typeof destinationOptions>;

import type { Logger } from "@svc/context";
import {
  boolean,
  integer,
  type Kind,
  listOf,
  objectWith,
  oneOf,
  optional,
  resolveOptions,
  string,
  withDefault,
} from "@svc/options";

/** A destination that pino can write to. `line` ends in a newline. */
export interface LineDestination {
  write(line: string): void;
}

/** Options of {@link createLogger}. */
export interface LoggerOptions {
  /** The service's name, on every line (ENV-1). Required. */
  readonly service: string;
  /** The environment, on every line. Required. */
  readonly env: string;
  /** The service's version, on every line when given. Default: none. */
  readonly version?: string | undefined;
  /**
   * The lowest level to write: trace, debug, info, warn (or warning), error, fatal (or critical) or silent, in upper or
   * lower case. Default: `"INFO"`.
   */
  readonly level?: string | undefined;
  /** JSON lines; false writes text for people (LOG-6). Default: true. */
  readonly json?: boolean | undefined;
  /** Where the lines go. Default: one destination for standard output, shared by all loggers of the process. */
  readonly destination?: LineDestination | undefined;
  /**
   * Additional names of fields with secret values; case, `-` and `_` do not matter, and a name also covers longer names
   * that end in it. Default: `[]`, which leaves the names that are always covered.
   */
  readonly redact?: readonly string[] | undefined;
}

/** The possible levels of an access line. */
export type AccessLevel = "debug" | "info" | "warn" | "error";

/** Options of {@link accessLog}. */
export interface AccessLogOptions {
  /** The logger of `createLogger()`, another pino logger, or an object with the same methods. Required. */
  readonly logger: Logger;
  /** The level of the access lines. Default: `"info"`. */
  readonly level?: AccessLevel | undefined;
  /** Exact paths with access lines at debug level, for example `["/health"]`. Default: `[]`. */
  readonly quietPaths?: readonly string[] | undefined;
}

/** Options of {@link createDestination}. */
export interface DestinationOptions {
  /** The open file descriptor to write to. Default: 1, standard output. */
  readonly fd?: number | undefined;
  /** The most bytes to queue for a reader that does not read; further lines are dropped. Default: 8 MiB. */
  readonly maxQueuedBytes?: number | undefined;
  /** How long a process at its end waits for such a reader, in milliseconds. Default: 1000. */
  readonly exitWaitMs?: number | undefined;
}

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

const level: Kind<string> = {
  expects: `one of ${Object.keys(names).join(", ")}, in any case`,
  accepts: (value): value is string => typeof value === "string" && Object.hasOwn(names, value.toLowerCase()),
};

/** The options with their defaults; an option without a default may be undefined. */
type Filled<T, Open extends keyof T = never> = {
  readonly [K in keyof T]-?: K extends Open ? T[K] : Exclude<T[K], undefined>;
};

const loggerKinds = {
  service: string(),
  env: string(),
  version: optional(string()),
  level: withDefault(level, "INFO"),
  json: withDefault(boolean(), true),
  destination: optional(objectWith<LineDestination>("a destination", "write")),
  redact: withDefault(
    listOf(string({ pattern: /^[\w.-]{1,100}$/, expects: "a field name of letters, digits, _, - and ." })),
    [],
  ),
};

const accessLogKinds = {
  logger: objectWith<Logger>("a logger", "debug", "info", "warn", "error"),
  level: withDefault(oneOf("debug", "info", "warn", "error"), "info"),
  quietPaths: withDefault(listOf(string({ pattern: /^\//, expects: "a path that starts with /" })), []),
};

const destinationKinds = {
  fd: withDefault(integer({ min: 0 }), 1),
  maxQueuedBytes: withDefault(integer({ min: 1024 }), 8 * 1024 * 1024),
  exitWaitMs: withDefault(integer({ min: 0, max: 60_000 }), 1000),
};

/** Returns the checked options of `createLogger()`, with pino's name of the level. */
export function loggerOptions(given: LoggerOptions): Filled<LoggerOptions, "version" | "destination"> {
  const resolved = resolveOptions("createLogger()", given, loggerKinds);
  return { ...resolved, level: names[resolved.level.toLowerCase()] ?? "info" };
}

/** Returns the checked options of `accessLog()` or `pinoHttpOptions()`. */
export function accessLogOptions(factory: string, given: AccessLogOptions): Filled<AccessLogOptions> {
  return resolveOptions(factory, given, accessLogKinds);
}

/** Returns the checked options of `createDestination()`. */
export function destinationOptions(given: DestinationOptions): Filled<DestinationOptions> {
  return resolveOptions("createDestination()", given, destinationKinds);
}

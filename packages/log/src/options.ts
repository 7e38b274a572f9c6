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

/** Where lines go: anything that pino can write to. `line` ends in a newline. */
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
   * The lowest level that is written: trace, debug, info, warn (or warning), error, fatal (or critical) or
   * silent, in any case. Default: `"INFO"`.
   */
  readonly level?: string | undefined;
  /** JSON lines; false writes text for people (LOG-6). Default: true. */
  readonly json?: boolean | undefined;
  /** Where the lines go. Default: one destination for standard output, shared by all loggers of the process. */
  readonly destination?: LineDestination | undefined;
  /**
   * More field names whose values are secret; case, `-` and `_` do not matter, and a name also covers every
   * longer name that ends in it. Default: `[]`, on top of the names that are always covered.
   */
  readonly redact?: readonly string[] | undefined;
}

/** The levels that an access line can have. */
export type AccessLevel = "debug" | "info" | "warn" | "error";

/** Options of {@link accessLog}. */
export interface AccessLogOptions {
  /** The logger of `createLogger()`, another pino logger, or anything with its methods. Required. */
  readonly logger: Logger;
  /** The level of the access lines. Default: `"info"`. */
  readonly level?: AccessLevel | undefined;
  /** Exact paths whose lines are written at debug level, `["/health"]` for example. Default: `[]`. */
  readonly quietPaths?: readonly string[] | undefined;
}

/** Options of {@link createDestination}. */
export interface DestinationOptions {
  /** The open file descriptor that is written to. Default: 1, standard output. */
  readonly fd?: number | undefined;
  /** Bytes that may wait for a reader that does not read; lines beyond are dropped. Default: 8 MiB. */
  readonly maxQueuedBytes?: number | undefined;
  /** How long, in milliseconds, the end of the process waits for such a reader. Default: 1000. */
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

/** The options with their defaults; what has none may be undefined. */
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

/** The options of `createLogger()`, checked; the level is pino's name of it. */
export function loggerOptions(given: LoggerOptions): Filled<LoggerOptions, "version" | "destination"> {
  const resolved = resolveOptions("createLogger()", given, loggerKinds);
  return { ...resolved, level: names[resolved.level.toLowerCase()] ?? "info" };
}

/** The options of `accessLog()` and its like, checked. */
export function accessLogOptions(factory: string, given: AccessLogOptions): Filled<AccessLogOptions> {
  return resolveOptions(factory, given, accessLogKinds);
}

/** The options of `createDestination()`, checked. */
export function destinationOptions(given: DestinationOptions): Filled<DestinationOptions> {
  return resolveOptions("createDestination()", given, destinationKinds);
}

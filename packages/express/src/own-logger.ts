import type { Logger } from "@svc/context";
import { createLogger, currentLogFields, type LineDestination } from "@svc/log";
import type { ServiceLogger } from "./service.ts";

/** A logger of the application: a pino logger, `console`, a winston logger, or an object with the same methods. */
export interface OwnLogger extends Omit<Logger, "fatal"> {
  /** Default: `error`. */
  fatal?(fields: object, message?: string): void;
}

type Fields = Readonly<Record<string, unknown>>;

interface LoggerCode {
  readonly logger: OwnLogger | undefined;
  readonly logDestination: LineDestination | undefined;
}

/** The settings of a service's log. */
interface LoggerSettings {
  readonly service: { readonly name: string; readonly env: string };
  readonly logging: { readonly level: string; readonly json: boolean };
}

/** Returns the logger of a service: the application's logger with the fields of the request, or else a logger of JSON lines. */
export function serviceLogger(
  { logger, logDestination: destination }: LoggerCode,
  { service, logging: { level, json } }: LoggerSettings,
): ServiceLogger {
  const { name, env } = service;
  if (logger === undefined) return createLogger({ service: name, env, level, json, destination });
  if (isPino(logger)) return withContextFields(logger);
  const send = senderTo(logger);
  return createLogger({
    service: name,
    env,
    level,
    destination: { write: (line) => send(parsed(line)) },
  });
}

function isPino(logger: OwnLogger): logger is OwnLogger & ServiceLogger {
  const { child, bindings, isLevelEnabled, levels } = logger as Partial<ServiceLogger>;
  return [child, bindings, isLevelEnabled].every((each) => typeof each === "function") && Boolean(levels);
}

/** Returns a child of a pino logger whose records have the fields of the request or job. */
function withContextFields(logger: ServiceLogger): ServiceLogger {
  const own = formattersOf(logger)?.log;
  return logger.child(
    {},
    { formatters: { log: (fields) => withCurrentFields(own?.(fields) ?? (fields as Fields)) } },
  );
}

function withCurrentFields(fields: Fields): Fields {
  return { ...currentLogFields(fields), ...fields };
}

/** Returns the formatters of a pino logger, which a child's formatters replace. Each copy of pino has its own symbol for them. */
function formattersOf(logger: object): { readonly log?: (fields: object) => Fields } | undefined {
  for (let each: unknown = logger; each !== null; each = Object.getPrototypeOf(each)) {
    const key = Object.getOwnPropertySymbols(each).find(
      ({ description }) => description === "pino.formatters",
    );
    if (key !== undefined) return (each as Record<symbol, object>)[key];
  }
  return undefined;
}

/** A line of `createLogger()`. */
interface Line extends Record<string, unknown> {
  readonly level: string;
  readonly message: string;
}

/** Returns a function that passes a line's fields and message to a logger, which adds its own level and time. */
function senderTo(logger: OwnLogger): (line: Line) => void {
  const takesOneObject = isWinston(logger);
  return ({ level, message, ...fields }) => {
    delete fields["time"];
    const method = methodFor(level, logger);
    const answer: unknown = takesOneObject
      ? logger[method]?.({ ...fields, message })
      : logger[method]?.(fields, message);
    if (answer instanceof Promise) answer.catch(() => undefined);
  };
}

// winston takes the message first, and accepts an object only as its sole argument.
function isWinston(logger: OwnLogger): boolean {
  const { transports, log } = logger as { readonly transports?: unknown; readonly log?: unknown };
  return Array.isArray(transports) && typeof log === "function";
}

function methodFor(level: string, logger: OwnLogger): keyof OwnLogger {
  if (level === "fatal") return typeof logger.fatal === "function" ? "fatal" : "error";
  return level === "info" || level === "warn" || level === "error" ? level : "debug";
}

function parsed(line: string): Line {
  try {
    return JSON.parse(line) as Line;
  } catch {
    return { level: "info", message: line };
  }
}

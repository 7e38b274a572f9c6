import type { Logger } from "@svc/context";
import { createLogger, type LineDestination } from "@svc/log";
import { isPino, safePino } from "./own-pino.ts";
import type { ServiceLogger } from "./service.ts";

/** A logger of the application: a pino logger, `console`, a winston logger, or an object with the same methods. */
export interface OwnLogger extends Omit<Logger, "fatal"> {
  /** Default: `error`. */
  fatal?(fields: object, message?: string): void;
}

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
  if (isPino(logger)) return safePino(logger);
  const send = senderTo(logger);
  return createLogger({
    service: name,
    env,
    level,
    destination: { write: (line) => send(parsed(line)) },
  });
}

/** A line of `createLogger()`. */
interface Line extends Record<string, unknown> {
  readonly level: string;
  readonly message: string;
}

/** Returns a function that passes a line's fields and message to a logger, which adds its own level and time. */
function senderTo(logger: OwnLogger): (line: Line) => void {
  const winston = recordMethodOf(logger);
  return ({ level, message, ...fields }) => {
    delete fields["time"];
    const method = methodFor(level, logger);
    const answer: unknown =
      winston === undefined
        ? logger[method]?.(fields, message)
        : winston({ ...fields, level: method, message });
    if (answer instanceof Promise) answer.catch(() => undefined);
  };
}

/**
 * Returns `log()` of a winston logger; undefined for other loggers. winston's level methods take the message first, and would
 * nest the fields of an object without a message.
 */
function recordMethodOf(
  logger: OwnLogger,
): ((record: Readonly<Record<string, unknown>>) => unknown) | undefined {
  const winston = logger as { readonly transports?: unknown; readonly log?: (record: object) => unknown };
  const { transports, log } = winston;
  return Array.isArray(transports) && typeof log === "function" ? log.bind(winston) : undefined;
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

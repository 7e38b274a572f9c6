import { currentContext } from "@svc/context";
import { ConfigurationError } from "@svc/options";
import { contextFields } from "./context-fields.ts";
import type { LineDestination } from "./options.ts";

/**
 * Returns the ids of the current request or job (`request_id`, `trace_id`, `tenant_id`, `tenant_claimed`), for the records of
 * another logger: `pino({ mixin: currentLogFields })`, or a format of winston.
 *
 * @param fields the fields of the record; if they contain a `request_id`, the result is empty, because they belong to that
 *   request. Default: none.
 */
export function currentLogFields(fields?: object): Record<string, unknown> {
  return fields !== undefined && "request_id" in fields ? {} : contextFields(currentContext());
}

/** The members of a winston logger that {@link winstonDestination} uses. */
export interface WinstonLogger {
  readonly levels: object;
  log(record: { level: string; message: string }): unknown;
}

/** The levels of winston's usual lists (npm, syslog, cli) for pino's levels, in order of preference. */
const LEVELS: Readonly<Record<string, readonly string[]>> = {
  trace: ["trace", "silly", "debug"],
  debug: ["debug"],
  info: ["info"],
  warn: ["warn", "warning"],
  error: ["error"],
  fatal: ["fatal", "crit", "error"],
};

// A text line begins with its time and its level.
const TEXT_LEVEL = /^\S* ([A-Z]+) /;

/**
 * Returns a destination for `createLogger({ destination })` that passes each record to a winston logger, which writes it with
 * its own formats and transports. Redacts secrets first. With `json: false`, the whole line is the message, with the level that
 * the line names.
 *
 * @throws ConfigurationError for a logger without `log()` and `levels`, and for one whose levels lack `error`, `warn` (or
 *   `warning`), `info` or `debug`
 */
export function winstonDestination(logger: WinstonLogger): LineDestination {
  const { log, levels } = Object(logger) as { readonly log?: unknown; readonly levels?: object | null };
  if (typeof log !== "function" || typeof levels !== "object" || levels === null) {
    throw wrong("must be a winston logger (an object with log() and levels)");
  }
  const names = new Map<string, string>();
  for (const [level, choices] of Object.entries(LEVELS)) {
    const found = choices.find((name) => Object.hasOwn(levels, name));
    if (found === undefined) throw wrong(`has no level ${choices.join(" or ")}`);
    names.set(level, found);
  }
  return {
    write(line) {
      const record = parsed(line);
      logger.log({ ...record, level: names.get(record.level) ?? "info" });
    },
  };
}

function parsed(line: string): { readonly level: string; readonly message: string } {
  try {
    return JSON.parse(line) as { level: string; message: string };
  } catch {
    return { level: TEXT_LEVEL.exec(line)?.[1]?.toLowerCase() ?? "info", message: line.trimEnd() };
  }
}

function wrong(message: string): ConfigurationError {
  return new ConfigurationError("winstonDestination()", [{ key: "logger", message }]);
}

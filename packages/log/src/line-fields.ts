import { inspect } from "node:util";
import type { Logger as PinoLogger } from "pino";
import { cut } from "./error-fields.ts";
import { boundNames, reserved, withoutBound } from "./bound-fields.ts";

type Write = (this: PinoLogger, ...args: never[]) => void;

/**
 * Writes a log record with unique names and a string message. Never throws to the code that logs. Used as pino's
 * `logMethod` hook.
 */
export function writeLine(this: PinoLogger, args: unknown[], write: Write): void {
  try {
    const target = prepare(this, args);
    write.apply(target, args as never[]);
  } catch (error) {
    const kind = error instanceof Error ? error.name : typeof error;
    try {
      write.apply(this, [{}, `a log line could not be written: ${kind}`] as never[]);
    } catch {
      // The destination itself fails, so this cannot be reported.
    }
  }
}

function prepare(logger: PinoLogger, args: unknown[]): PinoLogger {
  const [first] = args;
  if (typeof first === "string") return logger;
  if (typeof first !== "object") {
    if (first !== undefined) args[0] = asText(first);
    else if (args.length < 2) args[0] = "";
    return logger;
  }
  let fields: Record<string, unknown> = (first instanceof Error ? { err: first } : (first ?? {})) as never;
  const given = args[1];
  if (given !== undefined && typeof given !== "string") args[1] = asText(given);
  // Without a text, a null message is no message; pino would write it in addition to the text.
  if (given === undefined && fields["message"] === null) {
    fields = { ...fields };
    delete fields["message"];
  }
  const message = given ?? messageOf(fields);
  const bound = boundNames(logger);
  let clash = false;
  for (const name in fields) {
    if (bound.has(name) || (reserved.has(name) && (name !== "message" || given !== undefined))) {
      clash = true;
      break;
    }
  }
  if (message === undefined || first !== fields) {
    args[0] = fields;
    args[1] ??= cut(asText(message ?? ""));
  } else if (typeof fields["message"] !== "string" && given === undefined) {
    args[1] = cut(asText(message));
    clash ||= "message" in fields;
  }
  return clash ? withoutClash(logger, args, fields, bound) : logger;
}

function messageOf({ message, err }: Readonly<Record<string, unknown>>): unknown {
  if (message !== undefined && message !== null) return message;
  return typeof err === "object" && err !== null ? (err as { message?: unknown }).message : undefined;
}

function withoutClash(
  logger: PinoLogger,
  args: unknown[],
  fields: Readonly<Record<string, unknown>>,
  bound: ReadonlyMap<string, string>,
): PinoLogger {
  const names = new Set<string>();
  const renamed: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    const isMessage = name === "message" && args[1] === undefined;
    const unique = reserved.has(name) && !isMessage ? `${name}_` : name;
    renamed[unique] = value;
    if (bound.has(unique)) names.add(unique);
  }
  args[0] = renamed;
  return names.size === 0 ? logger : withoutBound(logger, names);
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : inspect(value, { depth: 3, breakLength: Infinity });
}

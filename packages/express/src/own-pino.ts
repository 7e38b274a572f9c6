import { currentLogFields } from "@svc/log";
import type { ServiceLogger } from "./service.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The internals of a pino logger that this file uses, under the symbols of the logger's own copy of pino. */
type Internals = Record<symbol, Readonly<Record<string, unknown>>>;

type LogMethod = (this: unknown, args: unknown[], method: Write, level: number) => void;
type Write = (this: unknown, ...args: unknown[]) => void;

/** Returns whether a logger is a pino logger, of any copy of pino. */
export function isPino(logger: object): logger is ServiceLogger {
  const { child, bindings, isLevelEnabled, levels } = logger as Partial<ServiceLogger>;
  const isShaped = [child, bindings, isLevelEnabled].every((each) => typeof each === "function");
  return isShaped && Boolean(levels) && symbolOf(logger, "pino.hooks") !== undefined;
}

/**
 * Returns a child of a pino logger whose records have the fields of the request or job. Its methods and those of its children
 * never throw, even if the destination, a hook or a formatter throws.
 */
export function safePino(logger: ServiceLogger): ServiceLogger {
  let writing: ServiceLogger | undefined;
  const formatters = internalsOf(logger, "pino.formatters")["log"] as
    ((fields: object) => Fields) | undefined;
  const log = (fields: object): Fields =>
    withCurrentFields(formatters?.(fields) ?? (fields as Fields), boundTo(writing ?? made));
  const made: ServiceLogger = logger.child({}, { formatters: { log } });

  const hooks = internalsOf(logger, "pino.hooks");
  const own = hooks["logMethod"] as LogMethod | undefined;
  const logMethod: LogMethod = function logSafely(args, method, level) {
    const before = writing;
    // In a detached method, as in .catch(log.error), `this` is undefined.
    const target = (this ?? made) as ServiceLogger;
    writing = target;
    try {
      if (own === undefined) method.apply(target, args);
      else own.call(target, args, method, level);
    } catch {
      // The logger itself fails, so this cannot be reported.
    } finally {
      writing = before;
    }
  };
  (made as unknown as Internals)[symbolOf(logger, "pino.hooks") as symbol] = { ...hooks, logMethod };
  // pino reads the hook when the level is set.
  made.level = logger.level;
  return made;
}

/** Adds the fields of the request or job that a record does not have yet: a JSON object must not repeat a name. */
function withCurrentFields(fields: Fields, bound: Fields): Fields {
  const current = currentLogFields("request_id" in bound ? bound : fields);
  for (const name in current) if (name in bound) delete current[name];
  return { ...current, ...fields };
}

const boundFields = new WeakMap<ServiceLogger, readonly [json: unknown, fields: Fields]>();

/** Returns the fields that a logger and its parents have bound. */
function boundTo(logger: ServiceLogger): Fields {
  const json: unknown = internalsOf(logger, "pino.chindings");
  const [before, known] = boundFields.get(logger) ?? [];
  if (known !== undefined && before === json) return known;
  const fields = logger.bindings();
  boundFields.set(logger, [json, fields]);
  return fields;
}

function internalsOf(logger: object, description: string): Readonly<Record<string, unknown>> {
  const key = symbolOf(logger, description);
  return key === undefined ? {} : ((logger as Internals)[key] ?? {});
}

/** Returns the symbol of a member of a pino logger. Each copy of pino has its own symbols. */
function symbolOf(logger: object, description: string): symbol | undefined {
  for (let each: unknown = logger; each !== null; each = Object.getPrototypeOf(each)) {
    const key = Object.getOwnPropertySymbols(each).find((symbol) => symbol.description === description);
    if (key !== undefined) return key;
  }
  return undefined;
}

import { currentContext } from "@svc/context";
import { type DestinationStream, pino, type Logger as PinoLogger, type symbols } from "pino";
import { boundNames, childMade, trackBoundFields } from "./bound-fields.ts";
import { contextFields } from "./context-fields.ts";
import { type DestinationWithNotice, NOTICE, notice, standardOutput } from "./destination.ts";
import { errorFields } from "./error-fields.ts";
import { writeLine } from "./line-fields.ts";
import { type LineDestination, loggerOptions, type LoggerOptions, pinoLevel } from "./options.ts";
import { createRedactor, type Redactor } from "./redact.ts";
import { readable, textLines } from "./text-lines.ts";
import { timeField } from "./timestamp.ts";
import { quote } from "./quote.ts";

const OWN: unique symbol = Symbol("own parts");

/** Internals of a logger from `createLogger()` that the access log uses; child loggers inherit them. */
export interface OwnParts {
  /** Receives finished JSON lines. */
  readonly stream: DestinationStream & { [symbols.needsMetadataGsym]?: boolean };
  readonly redactor: Redactor;
}

interface WithOwnParts {
  [OWN]?: OwnParts;
}

/** Returns the internals of a logger from `createLogger()`; undefined for any other logger. */
export function ownParts(logger: object): OwnParts | undefined {
  return (logger as WithOwnParts)[OWN];
}

/**
 * Creates a pino logger that writes one JSON object per line (LOG-1): `level`, `time`, `service`, `env`, inside a
 * request or job `request_id`, `trace_id`, `tenant_id` and `tenant_claimed` (LOG-2, COR-4, COR-12), then the fields of
 * the call and `message`. Names are unique in each record: a field with the name of a built-in member gets a trailing
 * `_`. Errors are written under `err` with type, message and stack. Secrets are redacted in the finished line. Logging
 * never throws.
 *
 * @throws ConfigurationError
 */
export function createLogger(options: LoggerOptions): PinoLogger {
  const { service, env, version, level, json, redact, ...given } = loggerOptions.resolve(options);
  const destination: LineDestination = given.destination ?? standardOutput();
  const stream = json ? destination : textLines(destination);
  const redactor = createRedactor(redact);
  const logger: PinoLogger = pino(
    {
      level: pinoLevel(level),
      base: { service, env, ...(version === undefined ? {} : { version }) },
      messageKey: "message",
      errorKey: "err",
      timestamp: timeField,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: errorFields, error: errorFields },
      mixin: (_fields, _level, target) => unboundContextFields(target),
      onChild: childMade,
      hooks: {
        // In a detached method, as in .catch(logger.error), `this` is not a logger, but the line must be written.
        logMethod(args: unknown[], write) {
          writeLine.call((this as PinoLogger | undefined) ?? logger, args, write);
        },
        streamWrite: redactor.line,
      },
    },
    stream,
  );
  trackBoundFields(logger);
  (logger as PinoLogger & WithOwnParts)[OWN] = { stream, redactor };
  if (NOTICE in destination) {
    const first = `"service":${quote(service)},"env":${quote(env)}`;
    (destination as DestinationWithNotice)[NOTICE] = (count) => {
      const line = `{"level":"warn"${timeField()},${first},"dropped_lines":${count},"message":"${notice(count)}"}\n`;
      return json ? line : readable(line);
    };
  }
  return logger;
}

function unboundContextFields(logger: PinoLogger): object {
  const fields = contextFields(currentContext());
  const bound = boundNames(logger);
  if (bound.size > 0) {
    for (const name of Object.keys(fields)) if (bound.has(name)) delete fields[name];
  }
  return fields;
}

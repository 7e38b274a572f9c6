import type { IncomingMessage, ServerResponse } from "node:http";
import {
  contextOf,
  enterContext,
  type Logger,
  type Middleware,
  onResponseEnd,
  openContext,
  pathOf,
  type RequestContext,
} from "@svc/context";
import { levels, type Logger as PinoLogger, symbols } from "pino";
import { boundJson, boundNames } from "./bound-fields.ts";
import { contextFields, contextJson } from "./context-fields.ts";
import { type OwnParts, ownParts } from "./logger.ts";
import { type AccessLevel, accessLogOptions, type AccessLogOptions } from "./options.ts";
import type { Redactor } from "./redact.ts";
import { timeField } from "./timestamp.ts";

/**
 * Returns middleware that writes one log record per request at the end of its response (LOG-3, LOG-4): `message` is
 * `request`, with `http_method`, `http_path`, `http_status`, `duration_ms`, `request_id` and, when known, `trace_id`,
 * `tenant_id` and `tenant_claimed`. A response on a broken connection has `aborted: true`, and the status 0 when
 * nothing was sent. Sets `log` of the request's context, so that other packages log through it. While the level is
 * disabled, a request costs one comparison.
 *
 * @throws ConfigurationError
 */
export function accessLog(options: AccessLogOptions): Middleware {
  const { logger, level, quietPaths } = accessLogOptions.resolve(options);
  const line = accessLine(logger, level);
  const quietLine = accessLine(logger, "debug");
  const quiet = new Set(quietPaths);
  return function accessLogMiddleware(req, res, next) {
    openContext(req).log = logger;
    // Quiet paths use debug, the lowest level, so while `level` is disabled, debug is disabled too.
    if (line.enabled()) {
      const isQuiet = quiet.size > 0 && quiet.has(pathOf(req));
      if (!isQuiet) onResponseEnd(req, res, line.write);
      else if (quietLine.enabled()) onResponseEnd(req, res, quietLine.write);
    }
    enterContext(req, res, next);
  };
}

interface AccessLine {
  /** Called per request, because the level of a logger may change while the service runs. */
  readonly enabled: () => boolean;
  readonly write: (req: IncomingMessage, res: ServerResponse, aborted: boolean) => void;
}

function accessLine(logger: Logger, level: AccessLevel): AccessLine {
  const parts = ownParts(logger);
  if (parts !== undefined) {
    const own = logger as Logger & PinoLogger;
    const threshold = levels.values[level] ?? 0;
    return { enabled: () => own.levelVal <= threshold, write: ownLine(own, level, parts) };
  }
  const { isLevelEnabled } = logger as { isLevelEnabled?: (name: string) => boolean };
  return {
    enabled: typeof isLevelEnabled === "function" ? () => isLevelEnabled.call(logger, level) : () => true,
    write: (req, res, aborted) => {
      try {
        const answer: unknown = logger[level](accessFields(req, res, aborted), "request");
        if (answer instanceof Promise) answer.catch(() => undefined);
      } catch {
        // An error thrown from a response's end listener would end the process.
      }
    },
  };
}

const ownNames =
  "level time message request_id trace_id tenant_id tenant_claimed http_method http_path http_status duration_ms aborted".split(
    " ",
  );

/**
 * Returns a function that writes the record as a string, exactly as the logger would, at a fifth of the cost of an
 * object. Redacts only what can contain a secret: the values that a request chooses, and the bound fields once.
 */
function ownLine(logger: Logger & PinoLogger, level: AccessLevel, parts: OwnParts): AccessLine["write"] {
  const { redactor, stream } = parts;
  const { quote } = redactor;
  const viaPino: AccessLine["write"] = (req, res, aborted) =>
    logger[level](accessFields(req, res, aborted), "request");
  // Let pino write the record when the stream needs pino's metadata, or when the values of one of its names are secret.
  if (stream[symbols.needsMetadataGsym] === true || ownNames.some(redactor.isSecret)) return viaPino;
  const start = `{"level":"${level}"`;
  const bound = boundFields(logger, redactor);
  return function writeAccessLine(req, res, aborted) {
    const context = contextOf(req);
    try {
      const fields = bound();
      if (fields === undefined) return viaPino(req, res, aborted);
      stream.write(
        `${start}${timeField()}${fields}${contextJson(context, quote)},"http_method":${quote(
          req.method ?? "",
        )},"http_path":${quote(shortPathOf(req))},"http_status":${statusOf(res, aborted)},"duration_ms":${durationOf(context)}${aborted ? ',"aborted":true' : ""},"message":"request"}\n`,
      );
    } catch {
      // Ignore: an error thrown from a response's end listener would end the process.
    }
  };
}

/**
 * Returns a function that returns the bound fields as JSON members without secrets; undefined if one has the name of a
 * field of the record.
 */
function boundFields(logger: PinoLogger, redactor: Redactor): () => string | undefined {
  let source: string | undefined;
  let fields: string | undefined;
  return () => {
    const json = boundJson(logger);
    // `setBindings()` of the logger replaces the text.
    if (json !== source) {
      const names = boundNames(logger);
      fields = ownNames.some((name) => names.has(name)) ? undefined : redactor.line(json);
      source = json;
    }
    return fields;
  };
}

/** Returns the fields of an access log record, for a logger that accepts objects. */
export function accessFields(
  req: IncomingMessage,
  res: ServerResponse,
  aborted: boolean,
): Record<string, unknown> {
  const context = contextOf(req);
  const fields = contextFields(context);
  fields["http_method"] = req.method ?? "";
  fields["http_path"] = shortPathOf(req);
  fields["http_status"] = statusOf(res, aborted);
  fields["duration_ms"] = durationOf(context);
  if (aborted) fields["aborted"] = true;
  return fields;
}

const longestPath = 2048;

function shortPathOf(req: IncomingMessage): string {
  return pathOf(req).slice(0, longestPath);
}

/** Returns the status that was sent; 0 when the connection closed before a status was sent. */
function statusOf(res: ServerResponse, aborted: boolean): number {
  return aborted && !res.headersSent ? 0 : res.statusCode;
}

/** Returns the milliseconds since the request began, with at most three decimals. */
function durationOf(context: RequestContext | undefined): number {
  return context === undefined ? 0 : Math.round((performance.now() - context.startedAt) * 1000) / 1000;
}

import type { IncomingMessage, ServerResponse } from "node:http";
import { type Logger, openContext, pathOf } from "@svc/context";
import { ConfigurationError } from "@svc/options";
import type { Logger as PinoLogger } from "pino";
import type { Options } from "pino-http";
import { accessFields } from "./access-log.ts";
import { type AccessLogOptions, pinoHttpLogOptions } from "./options.ts";

/**
 * Returns options for pino-http 10 and 11 that give its records the fields of `accessLog()`, each once, without `req`,
 * `res`, `responseTime` and a generated `err`. For applications that already use pino-http; `accessLog()` is faster.
 * The logger must be a pino logger, for example from `createLogger()`. Records for `quietPaths` have debug level.
 *
 * @throws ConfigurationError
 */
export function pinoHttpOptions(options: AccessLogOptions): Options<IncomingMessage, ServerResponse> {
  const { logger, level, quietPaths } = pinoHttpLogOptions.resolve(options);
  if (!isPino(logger)) {
    throw new ConfigurationError("pinoHttpOptions()", [
      { key: "logger", message: "must be a pino logger, such as one from createLogger()" },
    ]);
  }
  const quiet = new Set(quietPaths);
  const lineFields = (req: IncomingMessage, res: ServerResponse): object =>
    accessFields(req, res, !res.writableFinished);
  return {
    logger,
    // pino-http calls this first for every request, so the duration is measured from here at the latest.
    genReqId: (req) => {
      const context = openContext(req);
      context.log ??= logger;
      return context.requestId;
    },
    customLogLevel: (req) => (quiet.has(pathOf(req)) ? "debug" : level),
    customSuccessMessage: () => "request",
    customErrorMessage: () => "request",
    customSuccessObject: lineFields,
    customErrorObject: lineFields,
    wrapSerializers: false,
    serializers: { req: () => undefined, res: () => undefined },
    quietReqLogger: false,
    quietResLogger: false,
  };
}

function isPino(logger: Logger): logger is Logger & PinoLogger {
  return "child" in logger && "levels" in logger && "bindings" in logger;
}

import type { IncomingMessage } from "node:http";
import type { Logger } from "@svc/context";
import { defineOptions, kinds as k, type OptionsOf } from "@svc/options";

/** The part of a logger that problems need. */
export type ProblemLogger = Pick<Logger, "debug" | "error">;

const logger = k.optional(k.objectWith<ProblemLogger>("a logger", "debug", "error"));

export const problemHandlerOptions = defineOptions("problemHandler()", {
  /** Whether clients see the message of an unexpected error (ERR-7). Never its stack. Default: false. */
  debug: { kind: k.withDefault(k.boolean(), false) },
  /**
   * Logs errors; must have `debug` and `error`, as pino and `console` do. Default: the logger of the request's context, if
   * any.
   */
  logger: { kind: logger },
});

/** Options of `problemHandler()`. */
export type ProblemHandlerOptions = OptionsOf<typeof problemHandlerOptions>;

export const attachProblemsOptions = defineOptions("attachProblems()", {
  /** Receives at most one debug record per second, with `code`, `http_status` and `suppressed`. Default: none. */
  logger: { kind: logger },
  /**
   * Returns the id of a request that is refused before any middleware; a result other than 1 to 128 visible ASCII characters
   * is ignored. Default: the caller's `X-Request-ID` if it is acceptable, else a new id.
   */
  requestIdFrom: { kind: k.optional(k.func<(req: IncomingMessage) => string | undefined>()) },
});

/** Options of `attachProblems()`. */
export type AttachProblemsOptions = OptionsOf<typeof attachProblemsOptions>;

import type { IncomingMessage } from "node:http";
import type { Logger } from "@svc/context";
import { boolean, func, objectWith, optional, type OptionalKind, withDefault } from "@svc/options";

/** Options of `problemHandler()`. */
export interface ProblemHandlerOptions {
  /** Whether clients see the message of an unexpected error (ERR-7). Never its stack. Default: false. */
  readonly debug?: boolean | undefined;
  /** Logs errors. Default: the logger of the request's context; without one, errors are not logged. */
  readonly logger?: Logger | undefined;
}

export const handlerKinds: {
  readonly debug: OptionalKind<boolean, boolean>;
  readonly logger: OptionalKind<Logger, undefined>;
} = {
  debug: withDefault(boolean(), false),
  logger: optional(objectWith<Logger>("a logger", "debug", "error")),
};

/** Options of `attachProblems()`. */
export interface AttachProblemsOptions {
  /** Gets at most one debug line a second about refused requests. Default: none. */
  readonly logger?: Logger | undefined;
  /**
   * Returns the id of a request that is refused before any middleware; a result other than 1 to 128 visible ASCII
   * characters is ignored. Default: the caller's `X-Request-ID` when it is acceptable, else a new id.
   */
  readonly requestIdFrom?: ((req: IncomingMessage) => string | undefined) | undefined;
}

export const attachKinds: {
  readonly logger: OptionalKind<Logger, undefined>;
  readonly requestIdFrom: OptionalKind<(req: IncomingMessage) => string | undefined, undefined>;
} = {
  logger: optional(objectWith<Logger>("a logger", "debug", "error")),
  requestIdFrom: optional(func<(req: IncomingMessage) => string | undefined>()),
};

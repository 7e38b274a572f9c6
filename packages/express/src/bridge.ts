import { contextOf, type Logger, type Principal, type RequestContext } from "@svc/context";
import type { createLogger } from "@svc/log";
import { ConfigurationError, defineOptions, kinds as k, type OptionsOf } from "@svc/options";
import type { IncomingMessage } from "node:http";
import { isExpressApp } from "./express-app.ts";

/** The claims of a verified token, as `req.auth` of express-jwt; assignable to its type, which has no `readonly`. */
export interface BridgedClaims {
  iss?: string | undefined;
  sub?: string | undefined;
  aud?: string | string[] | undefined;
  exp?: number | undefined;
  nbf?: number | undefined;
  iat?: number | undefined;
  jti?: string | undefined;
  [claim: string]: unknown;
}

declare global {
  // oxlint-disable-next-line typescript/no-namespace -- Express declares its types for extension in this namespace
  namespace Express {
    // oxlint-disable-next-line typescript/no-empty-object-type -- merged with the declaration of passport
    interface User extends Principal {}

    interface Request {
      /** The request id, a string. Declared as in pino-http, because both declarations may be in one program. */
      id: number | string | object;
      /** The request id. */
      requestId: string;
      /** The logger; its records have the request id. Declared as in pino-http. */
      log: ReturnType<typeof createLogger>;
      /** The verified caller; undefined without one. */
      user?: User | undefined;
      /** The claims of the verified token; undefined without one. Declared as in express-jwt. */
      auth?: BridgedClaims;
    }
  }
}

/** A logger such as `console`; `fatal` may be missing. */
type BridgeLogger = Omit<Logger, "fatal"> & Partial<Pick<Logger, "fatal">>;

const bridgeOptions = defineOptions("bridgeRequests()", {
  /** The logger of requests whose context has none, for example `service.log`. Required. */
  logger: { kind: k.objectWith<BridgeLogger>("a logger", "debug", "info", "warn", "error") },
});

/** Options of {@link bridgeRequests}. */
export type BridgeOptions = OptionsOf<typeof bridgeOptions>;

/**
 * Adds `id`, `requestId`, `log`, `user` and `auth` to the requests of an Express application (4 or 5) and the applications
 * mounted in it, for handlers that were written for express-jwt, passport or pino-http. Each member reads the request's context
 * on access. A value that other code sets replaces it for that request.
 *
 * @throws ConfigurationError for a value that is not an Express application, and for a missing logger
 */
export function bridgeRequests(app: unknown, options: BridgeOptions): void {
  const { logger } = bridgeOptions.resolve(options);
  if (!isExpressApp(app)) {
    const message = "must be an Express application, as returned by express()";
    throw new ConfigurationError("bridgeRequests()", [{ key: "app", message }]);
  }
  const requestId = (context: RequestContext | undefined): string => context?.requestId ?? "";
  accessor(app.request, "id", requestId);
  accessor(app.request, "requestId", requestId);
  accessor(app.request, "log", (context) => context?.log ?? logger);
  accessor(app.request, "user", (context) => context?.principal);
  accessor(app.request, "auth", (context) => context?.principal?.claims);
}

function accessor(
  prototype: object,
  name: string,
  read: (context: RequestContext | undefined) => unknown,
): void {
  Object.defineProperty(prototype, name, {
    configurable: true,
    get(this: IncomingMessage) {
      return read(contextOf(this));
    },
    set(this: object, value: unknown) {
      Object.defineProperty(this, name, { configurable: true, enumerable: true, writable: true, value });
    },
  });
}

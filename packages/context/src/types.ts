import type { IncomingMessage, ServerResponse } from "node:http";

/** Middleware that Connect, Express 4, Express 5 and a bare `node:http` server all take. */
export type Middleware = (req: IncomingMessage, res: ServerResponse, next: (err?: unknown) => void) => void;

/** The verified caller. The package that verifies tokens writes it; other packages read it. */
export interface Principal {
  readonly subject: string;
  readonly scopes: readonly string[];
  readonly roles: readonly string[];
  readonly tenant: string | undefined;
  readonly tokenId: string | undefined;
  readonly family: string | undefined;
  readonly issuer: string | undefined;
  /** Seconds since the Unix epoch. */
  readonly expiresAt: number | undefined;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** A valid W3C trace context, received from the caller or started by this process. */
export interface TraceContext {
  /** 32 lowercase hex characters. */
  readonly traceId: string;
  /** The whole `traceparent`, version 00. */
  readonly traceparent: string;
  readonly tracestate: string | undefined;
}

/** The logger interface of all packages; pino and loggers like `console` implement it. */
export interface Logger {
  debug(fields: object, message?: string): void;
  info(fields: object, message?: string): void;
  warn(fields: object, message?: string): void;
  error(fields: object, message?: string): void;
  fatal(fields: object, message?: string): void;
}

/** The outcome of one readiness check. */
export interface CheckResult {
  readonly healthy: boolean;
  /** Shown to every caller of `/ready`: must not contain a connection string, user-info or a password. */
  readonly detail: string;
  /** Overrides the `critical` of the check. */
  readonly critical?: boolean | undefined;
  /** Numbers and short texts to show beside the detail. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
}

/** A dependency whose health `/ready` reports. */
export interface ReadinessCheck {
  readonly name: string;
  /** Whether the service is unavailable while this check is unhealthy. */
  readonly critical: boolean;
  /** Reports a dependency that is down as unhealthy instead of throwing. The signal aborts at the deadline of the check. */
  check(signal: AbortSignal): CheckResult | Promise<CheckResult>;
}

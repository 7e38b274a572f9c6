import type { IncomingMessage, ServerResponse } from "node:http";

// Method parameters are bivariant, so an application's middleware may declare the request and response of Express.
interface Layer {
  handle(req: IncomingMessage, res: ServerResponse, next: (err?: unknown) => void): void;
}

/** Middleware that Connect, Express 4, Express 5 and a bare `node:http` server accept. */
export type Middleware = Layer["handle"];

/** The verified caller. The package that verifies tokens sets it; other packages read it. */
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
  /** Visible to every caller of `/ready`, so it must not contain a connection string, user-info or a password. */
  readonly detail: string;
  /** Overrides the check's `critical`. */
  readonly critical?: boolean | undefined;
  /** Numbers and short strings to show with the detail. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
}

/** A dependency whose health `/ready` reports. */
export interface ReadinessCheck {
  readonly name: string;
  /** Whether the service is unavailable while this check is unhealthy. */
  readonly critical: boolean;
  /**
   * Returns an unhealthy result, rather than throwing, if the dependency is down. The signal aborts at the check's
   * deadline.
   */
  check(signal: AbortSignal): CheckResult | Promise<CheckResult>;
}

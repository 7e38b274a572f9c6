import type { IncomingMessage, ServerResponse } from "node:http";

/** Middleware that Connect, Express 4, Express 5 and a bare `node:http` server all take. */
export type Middleware = (req: IncomingMessage, res: ServerResponse, next: (err?: unknown) => void) => void;

/** Who is calling, once a token was verified. Written by whoever verifies, read by everybody else. */
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

/** A valid W3C trace context as it came in, or as this process started it. */
export interface TraceContext {
  /** 32 lowercase hex characters. */
  readonly traceId: string;
  /** The whole `traceparent`, version 00. */
  readonly traceparent: string;
  readonly tracestate: string | undefined;
}

/** What every package of the collection may call on a logger; pino and `console`-like loggers fit. */
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
  /** Safe to show to anybody who can reach `/ready`: no connection string, no user-info, no password. */
  readonly detail: string;
  /** Overrides the criticality that the check was declared with. */
  readonly critical?: boolean | undefined;
  /** Numbers and short texts worth showing beside the detail. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
}

/** Something whose health `/ready` reports. Never throws for a dependency that is merely down. */
export interface ReadinessCheck {
  readonly name: string;
  /** Whether the service is of no use without it. */
  readonly critical: boolean;
  /** The signal aborts at the deadline of the check. */
  check(signal: AbortSignal): CheckResult | Promise<CheckResult>;
}

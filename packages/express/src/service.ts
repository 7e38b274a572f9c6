import type { Cache } from "@svc/cache";
import type { Config } from "@svc/config";
import type { Database } from "@svc/database";
import type { Events, Inbox } from "@svc/events";
import type { HealthMiddleware } from "@svc/health";
import type { JobTable } from "@svc/job-table";
import type { JwtAuth } from "@svc/jwt-auth";
import type { createLogger } from "@svc/log";
import type { MetricsMiddleware } from "@svc/metrics";
import type { TokenIssuer } from "@svc/token-issuer";
import type { Express } from "express";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { PluginSettings } from "./plugins/built.ts";
import type { StopHook, StopPhase } from "./stop.ts";

/** The pino logger of a service. */
export type ServiceLogger = ReturnType<typeof createLogger>;

/** A service that has been put together. */
export interface Service extends AsyncDisposable {
  /** The Express application; usable without a server, for example by supertest. */
  readonly app: Express;
  readonly server: Server;
  readonly config: Config<PluginSettings, Record<never, object>>;
  readonly log: ServiceLogger;
  readonly health: HealthMiddleware;
  /** With plugin `metrics`. */
  readonly metrics: MetricsMiddleware | undefined;
  /** With plugin `database`. */
  readonly db: Database | undefined;
  /** With plugin `queue`: where jobs are queued. Its table is there once the service has started. */
  readonly jobs: JobTable | undefined;
  /** With plugin `events`: what publishes them. */
  readonly events: Events | undefined;
  /** With plugin `events`, where there is a database: does the work of an event once, `inbox.once(tx, ...)`. */
  readonly inbox: Inbox | undefined;
  /** With plugin `cache`. */
  readonly cache: Cache | undefined;
  /** With plugin `auth`; its verifier serves whoever takes tokens from elsewhere. */
  readonly auth: JwtAuth | undefined;
  /** With plugin `auth` and `issue_tokens`: what a sign-in route of the application calls. */
  readonly issuer: TokenIssuer | undefined;
  /** Where it listens, once it does. */
  readonly address: AddressInfo | undefined;
  /**
   * Has a hook called when the service stops, in the order of the phases; hooks of one phase run side by side.
   *
   * @throws ConfigurationError for a phase that does not exist, and for a hook that is no function
   */
  readonly onStop: (phase: StopPhase, hook: StopHook) => void;
  /** Listens. Rejects when the port is taken. */
  start(): Promise<void>;
  /** Stops in order. Resolves with 0, or with 1 when the time was up and connections were cut. */
  stop(): Promise<number>;
}

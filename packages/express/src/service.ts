import type { Cache } from "@svc/cache";
import type { Config } from "@svc/config";
import type { Database } from "@svc/database";
import type { Events, Inbox } from "@svc/events";
import type { HealthMiddleware } from "@svc/health";
import type { JobTable } from "@svc/job-table";
import type { JwtAuth } from "@svc/jwt-auth";
import type { MetricsMiddleware } from "@svc/metrics";
import type { TokenIssuer } from "@svc/token-issuer";
import type { Express } from "express";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { PluginSettings } from "./plugins/built.ts";
import type { ServiceLogger } from "./plugins/plugin.ts";
import type { StopHook, StopPhase } from "./stop.ts";

/** A service made by `createService()`. */
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
  /** With plugin `queue`: queues jobs. Its table exists once the service has started. */
  readonly jobs: JobTable | undefined;
  /** With plugin `events`: publishes events. */
  readonly events: Events | undefined;
  /** With plugin `events` and a database: runs the work of an event only once, `inbox.once(tx, ...)`. */
  readonly inbox: Inbox | undefined;
  /** With plugin `cache`. */
  readonly cache: Cache | undefined;
  /** With plugin `auth`; its verifier also checks tokens from other sources. */
  readonly auth: JwtAuth | undefined;
  /** With plugin `auth` and `issue_tokens`: issues tokens for a sign-in route of the application. */
  readonly issuer: TokenIssuer | undefined;
  /** The address of the server; undefined before it listens. */
  readonly address: AddressInfo | undefined;
  /**
   * Adds a hook that runs when the service stops. Phases run in order, the hooks of one phase in parallel.
   *
   * @throws ConfigurationError for an unknown phase, and for a hook that is not a function
   */
  readonly onStop: (phase: StopPhase, hook: StopHook) => void;
  /** Listens. Rejects when the port is taken. */
  start(): Promise<void>;
  /** Stops in order. Resolves with 0, or with 1 when connections were cut at the time limit. */
  stop(): Promise<number>;
}

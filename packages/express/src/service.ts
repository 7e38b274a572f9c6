import type { Config } from "@svc/config";
import type { HealthMiddleware } from "@svc/health";
import type { AnyTasks, JobTable, Tasks } from "@svc/job-table";
import type { createLogger } from "@svc/log";
import type { ResolvedOptions } from "@svc/options";
import type { AnyPlugin, CodeEntries, PartsOf, StopHook, StopPhase, Together } from "@svc/plugin";
import type { Express } from "express";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { builtInPlugins } from "./plugins/built-in.ts";

/** A service's pino logger. */
export type ServiceLogger = ReturnType<typeof createLogger>;

/** The application's custom plugins, by name. */
export type OwnPlugins = Readonly<Record<string, AnyPlugin>>;

/** The tasks that `defineTasks()` of `@svc/job-table` returns. */
export type DefinedTasks = Tasks<AnyTasks>;

type BuiltIn = (typeof builtInPlugins)[number];

/** The options of a built-in plugin. */
export type KeysOf<N> = Extract<BuiltIn, { readonly name: N }>["options"]["keys"];

/** The settings in `[plugin.queue]`. */
export type QueueSettings = ResolvedOptions<KeysOf<"queue">>;

/** The built-in plugins' settings, by plugin name. */
export type PluginSettings = {
  readonly [N in BuiltIn["name"]]: Omit<ResolvedOptions<KeysOf<N>>, keyof CodeEntries<KeysOf<N>>>;
};

/** The members that plugins add; undefined while a plugin is off. */
type PartsOfAll<P extends AnyPlugin> =
  Together<P extends AnyPlugin ? PartsOf<P> : never> extends infer All
    ? { readonly [N in keyof All]: All[N] | undefined }
    : never;

/** The payloads of the tasks `T` before their schemas, by task. */
export type QueuedBy<T extends DefinedTasks> = T extends Tasks<infer Queued, AnyTasks> ? Queued : never;

/** The members of the built-in plugins; `jobs` accepts the jobs of the tasks `T`. */
type BuiltInParts<T extends DefinedTasks> = Omit<PartsOfAll<BuiltIn>, "jobs"> & {
  readonly jobs:
    (T extends Tasks<infer Queued, infer Received> ? JobTable<Queued, Received> : never) | undefined;
};

/**
 * A service created by `createService()`, with the members that its plugins add: `metrics`, `db`, `jobs`, `events`,
 * `inbox`, `rollups`, `search`, `cache`, `http`, `gateway`, `auth`, `issuer`, `rateLimit`, `telemetry`, and the members of
 * custom plugins. `T` is the type of `queue.tasks`, which types the jobs that `jobs` accepts. Default: any job.
 */
export type Service<
  P extends OwnPlugins = Record<never, never>,
  T extends DefinedTasks = DefinedTasks,
> = BareService & BuiltInParts<T> & ([keyof P] extends [never] ? unknown : PartsOfAll<P[keyof P]>);

interface BareService extends AsyncDisposable {
  /** The Express application. It is usable without a server, for example with supertest. */
  readonly app: Express;
  readonly server: Server;
  readonly config: Config<PluginSettings, Record<never, object>>;
  readonly log: ServiceLogger;
  readonly health: HealthMiddleware;
  /** The server's address; undefined before it listens. */
  readonly address: AddressInfo | undefined;
  /**
   * Adds a hook that runs when the service stops. Phases run in order; the hooks in one phase run in parallel.
   *
   * @throws ConfigurationError for an unknown phase, and for a hook that is not a function
   */
  readonly onStop: (phase: StopPhase, hook: StopHook) => void;
  /** Starts listening. Rejects when the port is in use. */
  start(): Promise<void>;
  /**
   * Stops in the order described in the README. Resolves with 0, or with 1 if connections were cut at the time limit.
   */
  stop(): Promise<number>;
}

/** Members of a service that no plugin may add. */
export const serviceMembers: readonly (keyof BareService & string)[] = [
  "app",
  "server",
  "config",
  "log",
  "health",
  "address",
  "onStop",
  "start",
  "stop",
];

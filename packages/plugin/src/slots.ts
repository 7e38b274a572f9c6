import type { IncomingMessage } from "node:http";
import type { Middleware, ReadinessCheck } from "@svc/context";

/**
 * The phases in which a service stops, in this order: `intake` stops accepting work (workers, schedulers, relays), `work`
 * finishes or releases running work, `flush` sends buffered data (spans), `close` closes connections (pools, stores).
 */
export const stopPhases = ["intake", "work", "flush", "close"] as const;

/** One of {@link stopPhases}. */
export type StopPhase = (typeof stopPhases)[number];

/** Called once in its phase; the signal aborts at the time limit of the phase. */
export type StopHook = (signal: AbortSignal) => void | Promise<void>;

/** A route of the service itself with a fixed path, for GET and HEAD. */
export interface FrameworkRoute {
  readonly path: string;
  readonly handler: Middleware;
  /** Whether scrapers request the route by the address of the process, so that `trusted_hosts` does not apply. Default: false. */
  readonly calledByAddress?: boolean | undefined;
}

/** A part that runs in the background, such as a worker or a relay. */
export interface BackgroundPart {
  /** The name in log lines. */
  readonly name: string;
  /** Called once; must not block. */
  start(): void;
  /** Stops accepting work, and resolves when running work has ended. Called once, only after `start()`. */
  stop(): Promise<void>;
  /** Makes `stop()` return without waiting for running work. Default: none, for parts without long work. */
  readonly hurry?: (() => void) | undefined;
}

/** A database table that a plugin needs. */
export interface SchemaPart {
  /** The configuration key that sets the table's name, for example `plugin.queue.name`. */
  readonly key: string;
  ensureSchema(): Promise<unknown>;
}

/** Job handlers by task, as in `createWorker()`. */
export type JobHandlers = Readonly<Record<string, (payload: never, job: never) => unknown>>;

/** Schedules by name, as in `createScheduler()`; each queues jobs of one task. */
export type JobSchedules = Readonly<Record<string, { readonly task: string }>>;

/** The parts that a plugin adds to a service. */
export interface PluginParts<Parts extends object = object> {
  /** Objects that become members of the service under these names, for example `{ cache }`. Default: none. */
  readonly parts?: Parts | undefined;
  /**
   * Objects for the plugins that `joinPlugins()` joins with this one; they read them with `part()`. Offers are not members
   * of the service. Default: none.
   */
  readonly offers?: Readonly<Record<string, unknown>> | undefined;
  /** Runs for every request, after the request id and before security headers, CORS and trusted hosts. */
  readonly edge?: Middleware | undefined;
  /** Runs after trusted hosts; identifies the caller or the tenant. */
  readonly identity?: Middleware | undefined;
  /** Runs after identity and before body parsing, for example for a rate limit or a gateway. */
  readonly admission?: Middleware | undefined;
  /**
   * Returns whether `admission` handles a request with its own limits, as a gateway does: the service's limits of body size
   * and time do not apply to it. Called several times per request, first before all middleware. Default: no such requests.
   */
  readonly hasOwnLimits?: ((req: IncomingMessage) => boolean) | undefined;
  /** Runs after body parsing, for plugin routes that need the body. */
  readonly behindBody?: Middleware | undefined;
  /** Runs after the application's `middleware`, before its routes. */
  readonly page?: Middleware | undefined;
  /** Routes that match after the application's routes. */
  readonly routes?: readonly FrameworkRoute[] | undefined;
  readonly checks?: readonly ReadinessCheck[] | undefined;
  /** Members in `/info` next to the plugin's name, or a function that returns them; must not contain secrets. */
  readonly info?: Readonly<Record<string, unknown>> | (() => Readonly<Record<string, unknown>>) | undefined;
  /** Tables, created before the background parts start. */
  readonly schemas?: readonly SchemaPart[] | undefined;
  /** Jobs that the queue's worker runs for the plugin. */
  readonly handlers?: JobHandlers | undefined;
  /** Schedules of these jobs, which the plugin `queue` runs. */
  readonly schedules?: JobSchedules | undefined;
  /** Background parts, in the order in which they stop. */
  readonly work?: readonly BackgroundPart[] | undefined;
  /** A hook that runs in one phase of the shutdown. */
  readonly stop?: readonly [phase: StopPhase, hook: StopHook] | undefined;
  /**
   * Called after all plugins have started, with the job handlers and schedules of all plugins and of the application. The
   * returned parts are added to those from `start()`.
   */
  readonly finish?:
    ((handlers: JobHandlers, schedules: JobSchedules) => PluginParts | Promise<PluginParts>) | undefined;
}

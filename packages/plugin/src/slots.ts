import type { Middleware, ReadinessCheck } from "@svc/context";

/**
 * The phases in which the parts of a service stop, in this order: `intake` stops accepting work (workers, schedulers,
 * relays), `work` finishes or releases running work, `flush` sends buffered data (spans), `close` closes connections
 * (pools, stores).
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
}

/** A part that runs in the background: a worker, a relay. */
export interface BackgroundPart {
  /** Its name in log lines. */
  readonly name: string;
  /** Called once; must not block. */
  start(): void;
  /** Accepts no new work after the call, and resolves when its running work has ended. Called once, only after `start()`. */
  stop(): Promise<void>;
  /** Makes `stop()` wait no longer for running work. Default: none, for parts without long work. */
  readonly hurry?: (() => void) | undefined;
}

/** A table of a part. */
export interface SchemaPart {
  /** The configuration key with its name, for example `plugin.queue.name`. */
  readonly key: string;
  ensureSchema(): Promise<unknown>;
}

/** Job handlers by task, as those of `createWorker()`. */
export type JobHandlers = Readonly<Record<string, (payload: never, job: never) => unknown>>;

/** What a plugin adds to a service. */
export interface PluginParts<Parts extends object = object> {
  /** Objects that the service has as members of these names, for example `{ cache }`. Default: none. */
  readonly parts?: Parts | undefined;
  /**
   * Objects for the plugins that `joinPlugins()` has joined with this one, which get them from `part()`. They are not members
   * of the service. Default: none.
   */
  readonly offers?: Readonly<Record<string, unknown>> | undefined;
  /** Runs for every request, after the request id and before security headers, CORS and trusted hosts. */
  readonly edge?: Middleware | undefined;
  /** Runs after trusted hosts: finds the caller or the tenant. */
  readonly identity?: Middleware | undefined;
  /** Runs when the caller and the tenant are known and before the body is read, as a rate limit or a gateway does. */
  readonly admission?: Middleware | undefined;
  /** Runs after the body is parsed, for routes of a plugin that need it. */
  readonly behindBody?: Middleware | undefined;
  /** Runs after the application's `middleware`, before its routes. */
  readonly page?: Middleware | undefined;
  /** Routes that answer after those of the application. */
  readonly routes?: readonly FrameworkRoute[] | undefined;
  readonly checks?: readonly ReadinessCheck[] | undefined;
  /** Members in `/info` beside the plugin's name, or a function that returns them; without secrets. */
  readonly info?: Readonly<Record<string, unknown>> | (() => Readonly<Record<string, unknown>>) | undefined;
  /** Tables, created before the background parts start. */
  readonly schemas?: readonly SchemaPart[] | undefined;
  /** Jobs that the queue's worker runs for the plugin. */
  readonly handlers?: JobHandlers | undefined;
  /** Background parts, in the order of their stop. */
  readonly work?: readonly BackgroundPart[] | undefined;
  /** A function for a phase of the stop. */
  readonly stop?: readonly [phase: StopPhase, hook: StopHook] | undefined;
  /** Called when all plugins have started, with the job handlers of all and of the application; its parts are added to these. */
  readonly finish?: ((handlers: JobHandlers) => PluginParts | Promise<PluginParts>) | undefined;
}

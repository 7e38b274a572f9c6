import type { Logger, Middleware, ReadinessCheck } from "@svc/context";
import type { FrameworkRoute } from "../framework-routes.ts";
import type { StopHook, StopPhase } from "../stop.ts";

/** What a plugin is given when it is put to work. */
export interface PluginContext {
  readonly service: string;
  readonly version: string;
  readonly logger: Logger;
}

/** What a plugin adds to a service. */
export interface PluginParts {
  /** Runs for every request, in front of the application's routes. */
  readonly edge?: Middleware | undefined;
  readonly routes?: readonly FrameworkRoute[] | undefined;
  readonly checks?: readonly ReadinessCheck[] | undefined;
  /** What `/info` shows of it beside its name; nothing secret. */
  readonly info?: Readonly<Record<string, unknown>> | undefined;
  readonly onStop?: readonly [phase: StopPhase, hook: StopHook] | undefined;
}

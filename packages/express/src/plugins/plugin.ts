import type { EnvironmentName } from "@svc/config";
import type { Middleware, ReadinessCheck } from "@svc/context";
import type { createLogger } from "@svc/log";
import type { FrameworkRoute } from "../framework-routes.ts";
import type { BackgroundPart, SchemaPart } from "../work/parts.ts";
import type { StopHook, StopPhase } from "../stop.ts";

/** The pino logger of a service. */
export type ServiceLogger = ReturnType<typeof createLogger>;

/** The context that a plugin gets at its start. */
export interface PluginContext {
  readonly service: string;
  readonly version: string;
  readonly logger: ServiceLogger;
  readonly env: EnvironmentName;
  /** The reduced profile has no file, so its faults name only variables. */
  readonly profile: "full" | "reduced";
  /** Whether the application has a route for a path; call it only during a request. */
  readonly hasRoute: (path: string) => boolean;
  /**
   * Runs a factory and collects its faults, so that they are reported together with all others (CFG-12). Returns undefined
   * for a refused part; parts that depend on it are left out.
   */
  readonly noted: <P>(make: () => P | Promise<P>) => Promise<P | undefined>;
}

/** The parts of a service that a plugin adds. */
export interface PluginParts {
  /** Runs for every request, before the application's routes. */
  readonly edge?: Middleware | undefined;
  /** Runs after CORS and trusted hosts, before the body is parsed. */
  readonly identity?: Middleware | undefined;
  /** Runs after the body is parsed, for routes of a plugin that need it. */
  readonly behindBody?: Middleware | undefined;
  /** Runs after the application's `middleware`, before its routes. */
  readonly page?: Middleware | undefined;
  readonly routes?: readonly FrameworkRoute[] | undefined;
  readonly checks?: readonly ReadinessCheck[] | undefined;
  /** Its members in `/info` beside its name, or a function that returns them; without secrets. */
  readonly info?: Readonly<Record<string, unknown>> | (() => Readonly<Record<string, unknown>>) | undefined;
  /** Its background parts, in the order of their stop. */
  readonly work?: readonly BackgroundPart[] | undefined;
  /** Its tables. */
  readonly schemas?: readonly SchemaPart[] | undefined;
  readonly onStop?: readonly [phase: StopPhase, hook: StopHook] | undefined;
}

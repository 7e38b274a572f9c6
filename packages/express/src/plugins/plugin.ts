import type { EnvironmentName } from "@svc/config";
import type { Middleware, ReadinessCheck } from "@svc/context";
import type { FrameworkRoute } from "../framework-routes.ts";
import type { BackgroundPart, SchemaPart } from "../work/parts.ts";
import type { ServiceLogger } from "../service.ts";
import type { StopHook, StopPhase } from "../stop.ts";

/** What a plugin is given when it is put to work. */
export interface PluginContext {
  readonly service: string;
  readonly version: string;
  readonly logger: ServiceLogger;
  readonly env: EnvironmentName;
  /** The reduced profile has no file, so its faults name variables alone. */
  readonly profile: "full" | "reduced";
  /** Whether the application has a route for a path; known when requests come. */
  readonly hasRoute: (path: string) => boolean;
  /**
   * Makes something that may be refused: its faults are told together with those of everything else (CFG-12). Answers
   * undefined then; what hangs on it is left out.
   */
  readonly noted: <P>(make: () => P | Promise<P>) => Promise<P | undefined>;
}

/** What a plugin adds to a service. */
export interface PluginParts {
  /** Runs for every request, in front of the application's routes. */
  readonly edge?: Middleware | undefined;
  /** Runs behind whatever answers for the edge itself (CORS, trusted hosts), in front of the body. */
  readonly identity?: Middleware | undefined;
  /** Runs behind the body, for routes of a plugin that take one. */
  readonly behindBody?: Middleware | undefined;
  /** Runs behind the application's `middleware`, in front of its routes. */
  readonly page?: Middleware | undefined;
  readonly routes?: readonly FrameworkRoute[] | undefined;
  readonly checks?: readonly ReadinessCheck[] | undefined;
  /** What `/info` shows of it beside its name, or a function that is asked every time; nothing secret. */
  readonly info?: Readonly<Record<string, unknown>> | (() => Readonly<Record<string, unknown>>) | undefined;
  /** What runs beside the server, in the order in which it is stopped. */
  readonly work?: readonly BackgroundPart[] | undefined;
  /** The tables that it needs. */
  readonly schemas?: readonly SchemaPart[] | undefined;
  readonly onStop?: readonly [phase: StopPhase, hook: StopHook] | undefined;
}

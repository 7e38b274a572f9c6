import type { Logger, ReadinessCheck } from "@svc/context";
import {
  ConfigurationError,
  defineOptions,
  kinds as k,
  type OptionsOf,
  type ResolvedOptions,
  resolveOptions,
} from "@svc/options";
import { type ReadinessReport, type ReadinessStatus, RESERVED_NAMES, type ServiceState } from "./report.ts";

/** One plugin's entry in `/info`: its name and any other members. */
export type PluginInfo =
  | { readonly name: string }
  // This union member accepts literals with additional members. The first one accepts interfaces without an index
  // signature.
  | { readonly name: string; readonly [member: string]: unknown };

/** A change in the status of `/ready`. */
export interface ReadinessChange {
  /** The previous status; undefined before the first response. */
  readonly from: ReadinessStatus | undefined;
  readonly to: ReadinessStatus;
  readonly report: ReadinessReport;
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$/;

const readinessCheck: k.Kind<ReadinessCheck> = {
  expects:
    "a check { name, critical: true or false, check() } whose name is 1 to 64 letters, digits or _ . : - " +
    `and not ${RESERVED_NAMES.join(" or ")}`,
  accepts: (value): value is ReadinessCheck => {
    if (typeof value !== "object" || value === null) return false;
    const { name, critical, check } = value as Partial<Record<keyof ReadinessCheck, unknown>>;
    return (
      typeof name === "string" &&
      NAME.test(name) &&
      !RESERVED_NAMES.includes(name) &&
      typeof critical === "boolean" &&
      typeof check === "function"
    );
  },
};

const plugin: k.Kind<PluginInfo> = {
  expects: "an object with a name",
  accepts: (value): value is PluginInfo =>
    typeof value === "object" && value !== null && "name" in value && typeof value.name === "string",
};

const NONE: readonly never[] = [];

export const healthOptions = defineOptions("health()", {
  /** Name of the service. Required. */
  service: { kind: k.string() },
  /** Version of the service. Required. */
  version: { kind: k.string() },
  /** The environment; `prod` has no `/info` (SYS-6). Required. */
  env: { kind: k.environmentName },
  /** The readiness checks, which run in parallel. Default: none, so that `/ready` reports `ok`. */
  checks: { kind: k.withDefault(k.listOf(readinessCheck), NONE) },
  /** Time limit for a check in seconds, 0.01 to 60 (RDY-8). Default: 2.0. */
  readinessTimeoutSeconds: { kind: k.withDefault(k.number({ min: 0.01, max: 60 }), 2) },
  /** How long the checks' result is reused, in milliseconds, 0 to 1,000 (RDY-10). Default: 1,000. */
  reuseMs: { kind: k.withDefault(k.integer({ min: 0, max: 1000 }), 1000) },
  /** Whether `/info` exists; it never does in `prod`. Default: true. */
  info: { kind: k.withDefault(k.boolean(), true) },
  /**
   * The plugins listed by `/info`, `[{ name, ... }]`, or a function that is called for every request. Default: none.
   */
  plugins: { kind: k.withDefault(k.either(k.listOf(plugin), k.func<() => readonly PluginInfo[]>()), NONE) },
  /** The provider names listed by `/info`, or a function that is called for every request. Default: none. */
  providers: { kind: k.withDefault(k.either(k.listOf(k.string()), k.func<() => readonly string[]>()), NONE) },
  /** Logs one line per change: info for `ok`, warn for `degraded`, error for `unavailable`. Default: none. */
  logger: {
    kind: k.optional(
      k.objectWith<Pick<Logger, "info" | "warn" | "error">>("a logger", "info", "warn", "error"),
    ),
  },
  /** Called with `{ from, to, report }` when readiness changes; its errors are logged. Default: none. */
  onChange: { kind: k.optional(k.func<(change: ReadinessChange) => void>()) },
  /** A monotonic clock in milliseconds; for tests. Default: `performance.now`. */
  now: { kind: k.monotonicClock },
});

/** Options of `health()`. */
export type HealthOptions = OptionsOf<typeof healthOptions>;

/** The options with all defaults applied. */
export type ResolvedHealthOptions = ResolvedOptions<(typeof healthOptions)["keys"]>;

/**
 * Checks a state that is passed to `setState()`.
 * @throws ConfigurationError for an unknown state
 */
export function checkState(state: ServiceState): void {
  resolveOptions("setState()", { state }, { state: k.oneOf("starting", "serving", "draining") });
}

/**
 * Checks a readiness check and returns its name.
 * @throws ConfigurationError for an invalid check, and for a name that is already used
 */
export function checkedName(check: ReadinessCheck, taken: ReadonlySet<string>): string {
  resolveOptions("health()", { check }, { check: readinessCheck });
  if (!taken.has(check.name)) return check.name;
  throw new ConfigurationError("health()", [
    { key: "checks", message: `has two checks named ${check.name}; rename one of them` },
  ]);
}

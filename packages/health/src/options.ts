import type { Logger, ReadinessCheck } from "@svc/context";
import {
  boolean,
  ConfigurationError,
  either,
  func,
  integer,
  type Kind,
  listOf,
  number,
  objectWith,
  oneOf,
  optional,
  resolveOptions,
  string,
  withDefault,
} from "@svc/options";
import { type ReadinessReport, type ReadinessStatus, RESERVED_NAMES, type ServiceState } from "./report.ts";

/** The environments of the contract. */
export type Env = "local" | "dev" | "staging" | "prod";

/** The entry of one plugin in `/info`: its name and any other members. */
export type PluginInfo =
  | { readonly name: string }
  // This member of the union accepts literals with more members; the first accepts interfaces without an index signature.
  | { readonly name: string; readonly [member: string]: unknown };

/** A change of the status of `/ready`. */
export interface ReadinessChange {
  /** Undefined before the first answer. */
  readonly from: ReadinessStatus | undefined;
  readonly to: ReadinessStatus;
  readonly report: ReadinessReport;
}

/** Options of `health()`. */
export interface HealthOptions {
  /** The name of the service. Required. */
  readonly service: string;
  /** The version of the service. Required. */
  readonly version: string;
  /** The environment; `prod` has no `/info` (SYS-6). Required. */
  readonly env: Env;
  /** The readiness checks, which run in parallel. Default: none, so that `/ready` reports `ok`. */
  readonly checks?: readonly ReadinessCheck[] | undefined;
  /** The deadline of a check in seconds, 0.01 to 60 (RDY-8). Default: 2.0. */
  readonly readinessTimeoutSeconds?: number | undefined;
  /** How long a result of the checks is reused, in milliseconds, 0 to 1,000 (RDY-10). Default: 1,000. */
  readonly reuseMs?: number | undefined;
  /** Whether `/info` exists; it never does in `prod`. Default: true. */
  readonly info?: boolean | undefined;
  /** The plugins that `/info` lists, or a function that is called at every request. Default: none. */
  readonly plugins?: readonly PluginInfo[] | (() => readonly PluginInfo[]) | undefined;
  /** The names of providers that `/info` lists, or a function that is called at every request. Default: none. */
  readonly providers?: readonly string[] | (() => readonly string[]) | undefined;
  /** Gets one line for each change of readiness. Default: none. */
  readonly logger?: Logger | undefined;
  /** Called when readiness changes; its errors are logged. Default: none. */
  readonly onChange?: ((change: ReadinessChange) => void) | undefined;
  /** A monotonic clock in milliseconds; for tests. Default: `performance.now`. */
  readonly now?: (() => number) | undefined;
}

/** The options with every default filled in. */
export interface ResolvedHealthOptions {
  readonly service: string;
  readonly version: string;
  readonly env: Env;
  readonly checks: readonly ReadinessCheck[];
  readonly readinessTimeoutSeconds: number;
  readonly reuseMs: number;
  readonly info: boolean;
  readonly plugins: readonly PluginInfo[] | (() => readonly PluginInfo[]);
  readonly providers: readonly string[] | (() => readonly string[]);
  readonly logger: Logger | undefined;
  readonly onChange: ((change: ReadinessChange) => void) | undefined;
  readonly now: () => number;
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$/;

const readinessCheck: Kind<ReadinessCheck> = {
  expects:
    "a check: { name, critical: true or false, check() }, its name 1 to 64 letters, digits or _ . : -, " +
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

const plugin: Kind<PluginInfo> = {
  expects: "an object with a name",
  accepts: (value): value is PluginInfo =>
    typeof value === "object" && value !== null && "name" in value && typeof value.name === "string",
};

const NONE: readonly never[] = [];

/** @throws ConfigurationError */
export function resolveHealthOptions(given: HealthOptions): ResolvedHealthOptions {
  const resolved = resolveOptions("health()", given, {
    service: string(),
    version: string(),
    env: oneOf("local", "dev", "staging", "prod"),
    checks: withDefault(listOf(readinessCheck), NONE),
    readinessTimeoutSeconds: withDefault(number({ min: 0.01, max: 60 }), 2),
    reuseMs: withDefault(integer({ min: 0, max: 1000 }), 1000),
    info: withDefault(boolean(), true),
    plugins: withDefault(either(listOf(plugin), func<() => readonly PluginInfo[]>()), NONE),
    providers: withDefault(either(listOf(string()), func<() => readonly string[]>()), NONE),
    logger: optional(objectWith<Logger>("a logger", "info", "warn", "error")),
    onChange: optional(func<(change: ReadinessChange) => void>()),
    now: withDefault(func<() => number>(), () => performance.now()),
  });
  return { ...resolved, info: resolved.info && resolved.env !== "prod" };
}

/** @throws ConfigurationError for an unknown state */
export function checkState(state: ServiceState): void {
  resolveOptions("setState()", { state }, { state: oneOf("starting", "serving", "draining") });
}

/** @throws ConfigurationError for an invalid check, and for a name that is taken */
export function checkedName(check: ReadinessCheck, taken: ReadonlySet<string>): string {
  resolveOptions("health()", { check }, { check: readinessCheck });
  if (!taken.has(check.name)) return check.name;
  throw new ConfigurationError("health()", [
    { key: "checks", message: `has two checks named ${check.name}; give each its own name` },
  ]);
}

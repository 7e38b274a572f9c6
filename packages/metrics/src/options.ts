import {
  boolean,
  ConfigurationError,
  integer,
  type Kind,
  objectWith,
  optional,
  resolveOptions,
  string,
  withDefault,
} from "@svc/options";
import type { Registry } from "prom-client";
import PromRegistry from "prom-client/lib/registry.js";

/** Options of `metrics()`. */
export interface MetricsOptions {
  /** Label `service` of `service_info` (MET-6). Default: `unknown`. */
  readonly service?: string | undefined;
  /** Label `version` of `service_info` (MET-6). Default: `unknown`. */
  readonly version?: string | undefined;
  /** The prom-client registry to add to, in the plain text format. Default: a new one, not the global one. */
  readonly registry?: Registry | undefined;
  /** Upper bounds of the duration buckets in seconds, ascending, 1 to 50. Default: prom-client's, 0.005 to 10. */
  readonly buckets?: readonly number[] | undefined;
  /** Adds CPU, memory, file descriptors, heap and garbage collections of the process. Default: true. */
  readonly defaultMetrics?: boolean | undefined;
  /** Adds the delay of the event loop, `nodejs_eventloop_lag_*_seconds`. Default: true. */
  readonly eventLoopDelay?: boolean | undefined;
  /**
   * The most pairs of method and endpoint with series of their own; later pairs count under the endpoint `<other>`. A pair
   * has `buckets + 3` series and one more per status. Default: 1,000.
   */
  readonly maxSeries?: number | undefined;
}

/** The options with every default filled in. */
export interface ResolvedMetricsOptions {
  readonly service: string;
  readonly version: string;
  readonly registry: Registry;
  readonly buckets: readonly number[];
  readonly defaultMetrics: boolean;
  readonly eventLoopDelay: boolean;
  readonly maxSeries: number;
}

const DEFAULT_BUCKETS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const ascendingBounds: Kind<readonly number[]> = {
  expects: "a list of 1 to 50 numbers above 0, in seconds, each larger than the one before",
  accepts: (value): value is readonly number[] =>
    Array.isArray(value) &&
    value.length >= 1 &&
    value.length <= 50 &&
    value.every((bound, index) => Number.isFinite(bound) && bound > (index === 0 ? 0 : value[index - 1])),
};

/** @throws ConfigurationError */
export function resolveMetricsOptions(given: MetricsOptions | undefined): ResolvedMetricsOptions {
  const resolved = resolveOptions("metrics()", given, {
    service: withDefault(string(), "unknown"),
    version: withDefault(string(), "unknown"),
    registry: optional(
      objectWith<Registry>("a prom-client Registry", "getSingleMetric", "getMetricsAsJSON", "metrics"),
    ),
    buckets: withDefault(ascendingBounds, DEFAULT_BUCKETS),
    defaultMetrics: withDefault(boolean(), true),
    eventLoopDelay: withDefault(boolean(), true),
    maxSeries: withDefault(integer({ min: 1, max: 100_000 }), 1_000),
  });
  const registry = resolved.registry ?? new PromRegistry();
  // A registry of that format writes OpenMetrics also for clients that ask for plain text.
  if (String(registry.contentType).startsWith("application/openmetrics-text")) {
    throw registryFault(
      "must be a registry of the plain text format; OpenMetrics is offered by Accept anyway",
    );
  }
  return { ...resolved, registry };
}

/** Refuses a registry with metrics of these names, and says what to do; the error of prom-client names only the first. */
export function refuseDuplicates(registry: Registry, names: readonly string[]): void {
  const taken = names.filter((name) => registry.getSingleMetric(name) !== undefined);
  if (taken.length === 0) return;
  throw registryFault(
    `already has ${taken.join(", ")}; give each metrics() its own registry, ` +
      "and pass defaultMetrics: false and eventLoopDelay: false where collectDefaultMetrics() was called",
  );
}

function registryFault(message: string): ConfigurationError {
  return new ConfigurationError("metrics()", [{ key: "registry", message }]);
}

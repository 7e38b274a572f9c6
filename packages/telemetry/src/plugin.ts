import type { Middleware } from "@svc/context";
import { ConfigurationError, takeOptions } from "@svc/options";
import { definePlugin, type PluginContext } from "@svc/plugin";
import { below } from "./endpoint.ts";
import { headersOf } from "./header-variables.ts";
import { telemetryPluginOptions } from "./plugin-options.ts";
import { poolIn } from "./sql/pg-pool.ts";
import type { TelemetryMiddleware } from "./telemetry.ts";

export type { TelemetryMiddleware } from "./telemetry.ts";

/** Functions of packages that this package must not depend on. A service provides them as the part `telemetryTools`. */
export interface TelemetryTools {
  /** Returns the guard of `/debug/traces` outside `local`. */
  adminsOnly(): Promise<Middleware>;
  /** Adds the counts of spans to the service's metrics, if it has any. */
  countSpans(counts: TelemetryMiddleware["counts"]): Promise<void>;
}

const TRACES_PATH = "/debug/traces";

type Settings = ReturnType<typeof telemetryPluginOptions.resolve>;

/** `[plugin.telemetry]`: spans of requests, statements, jobs and events, as `service.telemetry`. */
export const telemetryPlugin = definePlugin({
  name: "telemetry",
  uses: ["database", "metrics"],
  options: telemetryPluginOptions,
  async start(context) {
    const { options, service, logger, part } = context;
    const { telemetry: createTelemetry } = await import("./telemetry.ts");
    const telemetry = createTelemetry({
      ...takeOptions(
        options,
        "exporter",
        "sampleRatio",
        "recordSqlStatement",
        "exportTimeoutMs",
        "shutdownTimeoutMs",
      ),
      ...endpointsOf(options),
      // Otherwise the traces page would list its own requests.
      excludePaths: [...options.excludePaths, TRACES_PATH],
      headers: headersOf(options.svcHeaders, options.otelHeaders),
      service: options.serviceName ?? service.name,
      version: service.version,
      env: service.env,
      logger,
    });
    const always = { parts: { telemetry }, checks: [telemetry.readiness()] };
    if (!telemetry.exporting) {
      logger.info({}, "telemetry: not exporting; set SVC_TELEMETRY_ENDPOINT");
      return always;
    }
    await loaded(telemetry);
    await part<TelemetryTools>("telemetryTools")?.countSpans(telemetry.counts);
    if (options.sql) traceDatabase(telemetry, context);
    const isProd = service.env === "prod";
    if (isProd && options.exporter === "memory") {
      logger.warn(
        {},
        'telemetry: exporter = "memory" keeps spans in this process only; set it to "otlp" in prod',
      );
    }
    return {
      ...always,
      edge: telemetry,
      routes: options.exporter === "memory" && !isProd ? await debugRoutes(telemetry, service.env, part) : [],
      stop: ["flush", () => telemetry.stop()],
    };
  },
});

/** Returns the endpoint in the order of TRACE-2: the file first, then the variables. */
function endpointsOf(options: Settings): { readonly endpoint: string; readonly tracesEndpoint: string } {
  const { endpoint, tracesEndpoint, endpointVariable, otelTracesEndpoint, otelEndpoint } = options;
  if (tracesEndpoint !== "" || endpoint !== "") return { endpoint, tracesEndpoint };
  if (endpointVariable !== "") return { endpoint: endpointVariable, tracesEndpoint: "" };
  if (otelTracesEndpoint !== "") return { endpoint: "", tracesEndpoint: otelTracesEndpoint };
  return { endpoint: "", tracesEndpoint: otelEndpoint === "" ? "" : below(otelEndpoint) };
}

/** @throws ConfigurationError that names the plugin, because no setting of its table is wrong */
async function loaded({ ready }: TelemetryMiddleware): Promise<void> {
  try {
    await ready;
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const faults = error.faults.map(({ message }) => ({ key: "plugin.telemetry", message }));
    throw new ConfigurationError("the service", faults, { cause: error });
  }
}

function traceDatabase(
  { traceQueries }: TelemetryMiddleware,
  { part, code }: Pick<PluginContext, "part" | "code">,
): void {
  const pool = poolIn(part("db") ?? code<{ readonly db?: object }>("work")?.db);
  // The application may pass any object with `query()` as its database.
  if (pool !== undefined) traceQueries(pool);
}

async function debugRoutes({ spans }: TelemetryMiddleware, env: string, part: PluginContext["part"]) {
  const tools = part<TelemetryTools>("telemetryTools");
  const guard = env === "local" ? undefined : await tools?.adminsOnly();
  // Outside `local`, traces show other people's requests, so the page needs a guard.
  if (env !== "local" && guard === undefined) return [];
  const { debugTraces } = await import("./debug-traces.ts");
  return [{ path: TRACES_PATH, handler: debugTraces(spans, guard) }];
}

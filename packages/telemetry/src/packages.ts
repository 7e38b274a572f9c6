import { ConfigurationError, errorText } from "@svc/options";

type Api = typeof import("@opentelemetry/api");
type AsyncHooks = typeof import("@opentelemetry/context-async-hooks");
type Sdk = typeof import("@opentelemetry/sdk-trace");
type OtlpExporter = typeof import("@opentelemetry/exporter-trace-otlp-http");

/** The optional packages of OpenTelemetry. */
export interface OpenTelemetry {
  readonly api: Api;
  readonly asyncHooks: AsyncHooks;
  readonly sdk: Sdk;
  /** Loaded only for the exporter `otlp`. */
  readonly otlp: OtlpExporter | undefined;
}

const API = "@opentelemetry/api";
const SDK = "@opentelemetry/sdk-trace";
const ASYNC_HOOKS = "@opentelemetry/context-async-hooks";
const OTLP = "@opentelemetry/exporter-trace-otlp-http";
const NAMES = [API, SDK, ASYNC_HOOKS, OTLP];
const INSTALL = `npm install ${NAMES.join(" ")}`;

/**
 * Imports the packages of OpenTelemetry, which take about 150 ms to load, only when there is a destination for spans.
 *
 * @param key the option or table to name in an error
 * @throws ConfigurationError with the install command when a package is missing (TRACE-29), and with the reason when one
 *   cannot be loaded
 */
export async function loadOpenTelemetry(overOtlp: boolean, key: string): Promise<OpenTelemetry> {
  const reason = overOtlp ? "an endpoint is set" : "an exporter is set";
  const load = async <M>(name: string, run: () => Promise<M>): Promise<M> => {
    try {
      return await run();
    } catch (error) {
      const message = isMissing(error)
        ? `${reason} and OpenTelemetry is not installed; run: ${INSTALL}`
        : `${reason} and ${name} cannot be loaded: ${errorText(error)}`;
      throw new ConfigurationError("telemetry()", [{ key, message }], { cause: error });
    }
  };
  const [api, sdk, asyncHooks, otlp] = await Promise.all([
    load(API, () => import("@opentelemetry/api")),
    load(SDK, () => import("@opentelemetry/sdk-trace")),
    load(ASYNC_HOOKS, () => import("@opentelemetry/context-async-hooks")),
    overOtlp ? load(OTLP, () => import("@opentelemetry/exporter-trace-otlp-http")) : undefined,
  ]);
  return { api, sdk, asyncHooks, otlp };
}

// The packages import one another; a package other than these four is missing only in a broken installation.
function isMissing(error: unknown): boolean {
  const { code, message = "" } = error as { readonly code?: unknown; readonly message?: string };
  return code === "ERR_MODULE_NOT_FOUND" && NAMES.some((name) => message.includes(`'${name}'`));
}

import { defineOptions, fault, fileOptions, kinds as k } from "@svc/options";
import { headersInJson, headersInList } from "./header-variables.ts";
import { endpointKind, telemetryOptions } from "./options.ts";

const url = k.withDefault(endpointKind, "");

/** The options of `[plugin.telemetry]`, and of the variables that the contract names (TRACE-2, TRACE-3, TRACE-4, TRACE-6). */
export const telemetryPluginOptions = defineOptions("[plugin.telemetry]", {
  ...fileOptions(telemetryOptions),
  /** The value of `endpoint` if the file has none. Default: empty. */
  endpointVariable: { env: "SVC_TELEMETRY_ENDPOINT", kind: url },
  /** The full URL that receives spans, if neither the file nor `SVC_TELEMETRY_ENDPOINT` has an endpoint. Default: empty. */
  otelTracesEndpoint: { env: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", kind: url },
  /** The base URL, below which spans go to `/v1/traces`, if no other setting has an endpoint. Default: empty. */
  otelEndpoint: { env: "OTEL_EXPORTER_OTLP_ENDPOINT", kind: url },
  /** Headers of an export as a JSON object; takes precedence over `OTEL_EXPORTER_OTLP_HEADERS`. Default: none. */
  svcHeaders: { env: "SVC_TELEMETRY_HEADERS", kind: k.optional(headersInJson) },
  /** Headers of an export as `name=value,name=value`, percent-encoded. Default: none. */
  otelHeaders: { env: "OTEL_EXPORTER_OTLP_HEADERS", kind: k.optional(headersInList) },
  /** The service's name in spans. Default: the name of the service. */
  serviceName: { env: "OTEL_SERVICE_NAME", kind: k.optional(k.string()) },
  /** Whether the statements of the service's database have spans. Default: true. */
  sql: { key: "sql", kind: k.withDefault(k.boolean(), true) },
  /** Whether the deploy command adds a collector and a trace viewer. Default: false. */
  includeInfra: { key: "include_infra", kind: k.withDefault(k.boolean(), false) },
  /** Port of that collector on the host. Default: 4318. */
  collectorHostPort: {
    key: "collector_host_port",
    kind: k.withDefault(k.integer({ min: 1, max: 65_535 }), 4318),
  },
  /** Not allowed: headers often hold a secret, so they come from the environment only (TRACE-3). */
  fileHeaders: { key: "headers", kind: k.optional(anything()) },
}).withCheck(({ fileHeaders }, name) => {
  if (fileHeaders === undefined) return [];
  const message = "is not allowed in the file: set SVC_TELEMETRY_HEADERS or OTEL_EXPORTER_OTLP_HEADERS";
  return [fault(name("fileHeaders"), message)];
});

function anything(): k.Kind<unknown> {
  return k.secret({
    expects: "absent",
    accepts: (value): value is unknown => value !== undefined,
    schema: { not: {} },
  });
}

import type { Tracer } from "@opentelemetry/api";
import type { SpanProcessor } from "@opentelemetry/sdk-trace";
import type { ResolvedTelemetry } from "./options.ts";
import type { OpenTelemetry } from "./packages.ts";

const SCOPE = "@svc/telemetry";

/** Spans of this process: who makes them, and how to take it back. */
export interface Provider {
  readonly tracer: Tracer;
  /** Unregisters what was registered for the whole process. */
  release(): void;
}

/**
 * Creates the provider of spans, with the sampling of TRACE-28 and the resource of TRACE-14. Unless the application has
 * registered its own, it also serves `trace.getTracer()` of the application, and its context manager that of all
 * instrumentations.
 */
export function createProvider(
  { api, asyncHooks, sdk }: OpenTelemetry,
  processor: SpanProcessor,
  { service, version, env, sampleRatio }: ResolvedTelemetry,
): Provider {
  const provider = new sdk.TracerProvider({
    resource: resourceOf({
      "service.name": service,
      "service.version": version,
      "deployment.environment.name": env,
    }),
    sampler: new sdk.ParentBasedSampler({ root: new sdk.TraceIdRatioBasedSampler(sampleRatio) }),
    spanProcessors: [processor],
  });
  const manager = new asyncHooks.AsyncLocalStorageContextManager().enable();
  const ownsContext = api.context.setGlobalContextManager(manager);
  const ownsTracers = api.trace.setGlobalTracerProvider(provider);
  return {
    tracer: provider.getTracer(SCOPE),
    release() {
      if (ownsTracers) api.trace.disable();
      if (ownsContext) api.context.disable();
    },
  };
}

type Resource = ConstructorParameters<OpenTelemetry["sdk"]["TracerProvider"]>[0] extends infer O
  ? NonNullable<NonNullable<O> extends { resource?: infer R } ? R : never>
  : never;

// The SDK's own resource also has attributes of the process and of variables.
function resourceOf(attributes: Readonly<Record<string, string>>): Resource {
  const resource: Resource = {
    attributes,
    asyncAttributesPending: false,
    merge: (other) =>
      other === null ? resource : resourceOf({ ...attributes, ...(other.attributes as object) }),
    getRawAttributes: () => Object.entries(attributes),
  };
  return resource;
}

import type { Tracer } from "@opentelemetry/api";
import type { Sampler, SpanProcessor } from "@opentelemetry/sdk-trace";
import type { ResolvedTelemetry } from "./options.ts";
import type { OpenTelemetry } from "./packages.ts";
import { createRandomIds } from "./random-ids.ts";
import { register } from "./registration.ts";

/** Name of the instrumentation scope of the spans that this package makes. */
export const SCOPE = "@svc/telemetry";

/** The tracer of this process, and the function that unregisters its provider. */
export interface Provider {
  readonly tracer: Tracer;
  /** Unregisters what was registered for the whole process. */
  readonly release: () => void;
}

/**
 * Creates the provider of spans, with the sampling of TRACE-28 and the resource of TRACE-14. Unless the application has
 * registered its own provider, this one also serves the application's `trace.getTracer()`, and all instrumentations use its
 * context manager and propagator.
 */
export function createProvider(
  otel: OpenTelemetry,
  processor: SpanProcessor,
  { service, version, env, sampleRatio }: ResolvedTelemetry,
): Provider {
  const { sdk } = otel;
  const provider = new sdk.TracerProvider({
    resource: resourceOf({
      "service.name": service,
      "service.version": version,
      "deployment.environment.name": env,
    }),
    sampler: new sdk.ParentBasedSampler({ root: rootSampler(sdk, sampleRatio) }),
    idGenerator: createRandomIds(),
    spanProcessors: [processor],
  });
  return { tracer: provider.getTracer(SCOPE), release: register(otel, provider) };
}

// The ratio-based sampler reads the whole trace id, even when its decision is always the same.
function rootSampler(sdk: OpenTelemetry["sdk"], ratio: number): Sampler {
  if (ratio === 1) return new sdk.AlwaysOnSampler();
  return ratio === 0 ? new sdk.AlwaysOffSampler() : new sdk.TraceIdRatioBasedSampler(ratio);
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

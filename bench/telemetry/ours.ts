import { telemetry, type TelemetryMiddleware, type TelemetryOptions } from "@svc/telemetry";

/** Resolves with `telemetry()` as soon as it traces. */
export async function ours(options: Partial<TelemetryOptions>): Promise<TelemetryMiddleware> {
  const tracing = telemetry({ service: "bench", version: "1.0.0", env: "prod", ...options });
  await tracing.ready;
  return tracing;
}

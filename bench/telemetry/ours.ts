import { telemetry, type TelemetryMiddleware, type TelemetryOptions } from "@svc/telemetry";

/** Returns `telemetry()` once it traces. */
export async function ours(options: Partial<TelemetryOptions>): Promise<TelemetryMiddleware> {
  const tracing = telemetry({ service: "bench", version: "1.0.0", env: "prod", ...options });
  await tracing.ready;
  return tracing;
}

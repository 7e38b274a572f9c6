import { createService } from "@svc/express";
import { trace } from "@opentelemetry/api";
import { announce, answerQuestions, settingsOfParent } from "../harness/within-service.ts";

export interface TracedSettings {
  /** Port of the collector. */
  readonly collectorPort: number;
  readonly exportTimeoutSeconds: number;
  readonly shutdownTimeoutSeconds: number;
  readonly requestTimeoutSeconds: number;
  /** The exit code of the process after a request to `/exit`. */
  readonly exitCode: number;
  readonly variant: string;
}

/** The body of `/n/:n`. */
export interface TracedBody {
  readonly n: string;
  /** The trace id of the request's span. */
  readonly trace: string | undefined;
  /** The `tracestate` of the span; null without one. */
  readonly state: string | null;
}

/** The service's report of its exports. */
export interface ExportFigures {
  readonly exported: number;
  readonly dropped: number;
  readonly failedBatches: number;
  /** The text in `/ready`. */
  readonly detail: string;
}

/** The result of a stop. */
export interface StopFigures extends ExportFigures {
  readonly code: number;
  readonly ms: number;
}

const settings = settingsOfParent<TracedSettings>();
const { collectorPort, exportTimeoutSeconds, shutdownTimeoutSeconds, requestTimeoutSeconds } = settings;
const { exitCode, variant } = settings;
const { signal } = new AbortController();

function body(n: string): TracedBody {
  const { traceId, traceState } = trace.getActiveSpan()?.spanContext() ?? {};
  return { n, trace: traceId, state: traceState?.serialize() ?? null };
}

async function main(): Promise<void> {
  // Load this on demand, because most services run as built.
  const broken = variant.startsWith("broken-") ? await import("./broken-tracing.ts") : undefined;
  const service = await createService({
    env: {},
    config: {
      toml: `
        [service]
        name = "traced"
        port = 0
        drain_delay = 0
        request_timeout = ${requestTimeoutSeconds}
        [logging]
        level = "WARN"
        [plugins]
        enabled = ["observability", "metrics", "telemetry"]
        [plugin.observability]
        access_log = false
        [plugin.telemetry]
        endpoint = "http://127.0.0.1:${collectorPort}"
        export_timeout = ${exportTimeoutSeconds}
        shutdown_timeout = ${shutdownTimeoutSeconds}
      `,
    },
    middleware: variant === "broken-awaits-export" && broken !== undefined ? [broken.awaitsExport()] : [],
    routes(app) {
      app.get("/n/:n", (req, res) => void res.json(body(req.params.n)));
      app.get("/never", () => undefined);
      app.get("/exit", () => process.exit(exitCode));
    },
  });

  async function exports(): Promise<ExportFigures> {
    const result = await service.telemetry?.readiness().check(signal);
    const { spans_exported, spans_dropped, batches_failed } = result?.meta ?? {};
    return {
      exported: Number(spans_exported),
      dropped: Number(spans_dropped),
      failedBatches: Number(batches_failed),
      detail: result?.detail ?? "",
    };
  }

  async function stop(): Promise<StopFigures> {
    const begun = performance.now();
    const code = await service.stop();
    return { code, ms: performance.now() - begun, ...(await exports()) };
  }

  if (variant === "broken-unbounded-queue") broken?.removeBound(exports);
  answerQuestions({ exports, stop, cpu: () => process.cpuUsage() });
  await service.start();
  announce(service.address?.port);
}

void main();

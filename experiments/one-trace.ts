import { fileURLToPath } from "node:url";
import { fetchAutoInstrumentations } from "@svc/test-support";
import { openOtlpReceiver, type ReceivedSpan, treeOf } from "@svc/test-support/otlp";
import { asBuilt, type Experiment } from "./harness/experiment.ts";
import type { Report } from "./harness/report.ts";
import { importFile } from "./one-trace/import-file.ts";
import { startServices } from "./one-trace/services.ts";

const upload = "POST /expenses/import";

/** Follows a file through a gateway, a service, its job, its event and a second service, and reads the exported spans. */
export const oneTrace: Experiment = {
  name: "one-trace",
  description:
    "the trace of a file through three processes, alone and with OpenTelemetry's automatic set (131 MB)",
  brokenVariants: ["broken-no-caller"],
  parts: ["own", "automatic"],
  async run({ variant, only, quick }, report) {
    const broken = fileURLToPath(new URL("services/without-traceparent.cjs", import.meta.url));
    const preloaded = variant === asBuilt ? [] : [broken];
    if (only !== "automatic") await follow("own spans", preloaded, report);
    if (only === "own" || quick) return;
    const folder = await fetchAutoInstrumentations((line) => report.note(line));
    const register = `${folder}/node_modules/@opentelemetry/auto-instrumentations-node/dist/register.cjs`;
    await follow("with the automatic set", [...preloaded, register], report);
  },
};

async function follow(name: string, preloaded: readonly string[], report: Report): Promise<void> {
  await using receiver = await openOtlpReceiver();
  {
    await using services = await startServices({
      SVC_TELEMETRY_ENDPOINT: receiver.url,
      NODE_OPTIONS: preloaded.map((file) => `--require=${file}`).join(" "),
      // OpenTelemetry's automatic instrumentation reads these variables.
      OTEL_EXPORTER_OTLP_ENDPOINT: new URL(receiver.url).origin,
      OTEL_METRICS_EXPORTER: "none",
      OTEL_LOGS_EXPORTER: "none",
      OTEL_NODE_RESOURCE_DETECTORS: "none",
      OTEL_BSP_SCHEDULE_DELAY: "100",
    });
    await importFile(services.url);
  }
  judge(name, receiver.spans, report);
  report.rule(
    receiver.requests.every(({ fault }) => fault === undefined),
    `${name}: every export is valid`,
  );
}

function judge(name: string, spans: readonly ReceivedSpan[], report: Report): void {
  const traceId = spans.find((span) => span.kind === "server" && span.name === upload)?.traceId;
  const trace = spans.filter((span) => span.traceId === traceId);
  const ids = new Set(trace.map(({ spanId }) => spanId));
  const orphans = trace.filter(({ parentSpanId }) => parentSpanId !== undefined && !ids.has(parentSpanId));
  const servers = trace.filter(({ kind }) => kind === "server").map((span) => span.name);
  const shown = treeOf(trace, undefined);
  report.figure(name, "spans of the trace", trace.length, "count");
  report.figure(name, "server spans", servers.length, "count");
  report.rule(
    trace.some((span) => span.name === "PUT /receipts/:expense"),
    `${name}: the call to the second service is in the trace of the file`,
  );
  report.rule(
    orphans.length === 0 && trace.filter(({ parentSpanId }) => parentSpanId === undefined).length === 1,
    `${name}: one span has no parent, and all other parents are there (${orphans.length} are missing)`,
  );
  report.rule(
    new Set(spans.map(({ spanId }) => spanId)).size === spans.length,
    `${name}: no span was exported twice`,
  );
  report.rule(
    servers.length === 3,
    `${name}: each of the three requests has one server span (${servers.join(", ")})`,
  );
  for (const inner of ["consumer job expenses.import", "consumer event expense.recorded"]) {
    report.rule(
      shown.some((line) => line.trim() === inner),
      `${name}: the trace has ${inner}`,
    );
  }
}

import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { Instrumentation } from "@opentelemetry/instrumentation";
import { ExpressInstrumentation } from "@opentelemetry/instrumentation-express";
import { HttpInstrumentation } from "@opentelemetry/instrumentation-http";
import type { Middleware } from "@svc/context";
import { expectEqual } from "../../harness/expect-equal.ts";
import { createInjector } from "../../harness/injector.ts";
import { requestBytes } from "../../harness/request-bytes.ts";
import { addRoute, item, routePath, urlOf } from "../../http/route.ts";
import { exportingAll } from "../export-all.ts";
import { ours } from "../ours.ts";
import { startReceiver } from "../receiver.ts";
import { type Stock, stock } from "../stock.ts";
import type { TracedSubject } from "../traced-subject.ts";

/** The tracing of a case. */
interface Tracing {
  readonly middleware?: Middleware;
  /** The number of spans that a request creates, if the case always creates the same number. */
  readonly perRequest?: number;
  readonly spans: () => Promise<number>;
  /** Returns the name of the last span. */
  readonly lastName?: () => Promise<string | undefined>;
  /** Wraps the function that sends requests. Default: unchanged. */
  readonly sending?: (send: (count: number) => Promise<void>) => (count: number) => Promise<void>;
}

const require = createRequire(import.meta.url);

// The requests carry no traceparent, so the sample ratio decides which ones are sampled.
const requests = Array.from({ length: 64 }, (_, index) =>
  requestBytes("GET", urlOf(index), {
    Host: "localhost:8000",
    "User-Agent": "bench/1.0",
    Accept: "application/json",
  }),
);

/**
 * Starts Express 5 with one route, and with the tracing that the setting names: `none`, `no-endpoint`, `memory`,
 * `sampled-out`, `otlp`, `stock`, `stock-beside-ours`, or `auto:` and the folder with the instrumentations.
 */
export async function start(setting: string): Promise<TracedSubject> {
  const { middleware, perRequest, spans, lastName, sending } = await tracingOf(setting);
  // Load Express after the instrumentations are registered, as a preload script does.
  const express = require("express") as typeof import("express");
  const app = express();
  if (middleware !== undefined) app.use(middleware);
  addRoute(app);
  const injector = createInjector(createServer(app));
  const send = (count: number): Promise<void> => injector.run(requests, count);
  const run = sending?.(send) ?? send;
  return {
    async prove() {
      const { status, body } = await injector.send("GET", urlOf(0));
      expectEqual("the status", status, 200);
      expectEqual("the body", body, JSON.stringify(item("10")));
      // The exporter `otlp` sends complete batches.
      await run(512);
      const before = await spans();
      await run(512);
      const made = (await spans()) - before;
      if (perRequest === undefined) expectEqual("whether requests have spans", made >= 512, true);
      else expectEqual("the spans of 512 requests", made, 512 * perRequest);
      if (lastName !== undefined) expectEqual("the name", await lastName(), `GET ${routePath}`);
    },
    run,
    spans,
  };
}

async function tracingOf(setting: string): Promise<Tracing> {
  if (setting === "none") return { perRequest: 0, spans: async () => 0 };
  if (setting === "otlp") return overOtlp();
  if (setting === "stock") return stockTracing(stock(stockInstrumentations()));
  if (setting === "stock-beside-ours") return beside(stock(stockInstrumentations()));
  if (setting.startsWith("auto:")) return automatic(setting.slice("auto:".length));
  const tracing = await ours({
    exporter: setting === "no-endpoint" ? "otlp" : "memory",
    sampleRatio: setting === "sampled-out" ? 0 : 1,
  });
  const perRequest = setting === "memory" ? 1 : 0;
  const spans = async (): Promise<number> => tracing.counts().exported;
  return perRequest === 0
    ? { middleware: tracing, perRequest, spans }
    : { middleware: tracing, perRequest, spans, lastName: async () => tracing.spans().at(-1)?.name };
}

async function overOtlp(): Promise<Tracing> {
  const receiver = await startReceiver("accept");
  const tracing = await ours({ tracesEndpoint: receiver.url });
  return {
    middleware: tracing,
    perRequest: 1,
    spans: async () => (await receiver.report()).spans,
    lastName: async () => (await receiver.report()).lastName,
    sending: (send) => exportingAll(tracing, send),
  };
}

function stockTracing({ spans, last }: Stock): Tracing {
  return { perRequest: 1, spans, lastName: async () => last()?.name };
}

/** Mounts `telemetry()` in an application whose requests already have spans. */
async function beside(instrumented: Stock): Promise<Tracing> {
  const tracing = await ours({ exporter: "memory" });
  return {
    ...stockTracing(instrumented),
    middleware: tracing,
    spans: async () => (await instrumented.spans()) + tracing.counts().exported,
  };
}

function stockInstrumentations(): readonly Instrumentation[] {
  const ignoreLayersType = ["middleware", "router", "request_handler"] as never[];
  return [new HttpInstrumentation(), new ExpressInstrumentation({ ignoreLayersType })];
}

function automatic(folder: string): Tracing {
  const { getNodeAutoInstrumentations } = createRequire(`${folder}/`)(
    "@opentelemetry/auto-instrumentations-node",
  ) as { readonly getNodeAutoInstrumentations: () => readonly Instrumentation[] };
  const { spans } = stock(getNodeAutoInstrumentations());
  return { spans };
}

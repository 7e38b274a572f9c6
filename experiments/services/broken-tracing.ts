import { ProxyTracerProvider, trace } from "@opentelemetry/api";
import type { ReadableSpan, SpanProcessor } from "@opentelemetry/sdk-trace";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ExportFigures } from "./traced.ts";

type Middleware = (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => void;

/** The provider of the SDK. Its processor is private. */
interface Provider {
  forceFlush(): Promise<void>;
  readonly _activeSpanProcessor: SpanProcessor;
}

const PASS_MS = 20;
/** This number does not fill the queue of the service, so the service drops no span. */
const MOST_PASSED = 1024;

function provider(): Provider {
  const proxy = trace.getTracerProvider();
  if (!(proxy instanceof ProxyTracerProvider))
    throw new Error("the global tracer provider must be a ProxyTracerProvider of @opentelemetry/api");
  return proxy.getDelegate() as unknown as Provider;
}

/** Returns middleware that exports all spans before each request. */
export function awaitsExport(): Middleware {
  return function awaitsExportMiddleware(_req, _res, next) {
    const proceed = (): void => next();
    void provider().forceFlush().then(proceed, proceed);
  };
}

/** Adds an unbounded queue in front of the service's own queue, which then never overflows. */
export function removeBound(exports: () => Promise<ExportFigures>): void {
  const processor = provider()._activeSpanProcessor;
  const passOn = processor.onEnd.bind(processor);
  const waiting: ReadableSpan[] = [];
  let passed = 0;
  processor.onEnd = (span) => void waiting.push(span);

  async function pass(): Promise<void> {
    const { exported, dropped } = await exports();
    const room = MOST_PASSED - (passed - exported - dropped);
    for (const span of waiting.splice(0, Math.max(0, room))) {
      passed += 1;
      passOn(span);
    }
  }
  setInterval(() => void pass(), PASS_MS);
}

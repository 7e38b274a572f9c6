import { AsyncLocalStorage } from "node:async_hooks";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { activeSpanTrace } from "./active-span.ts";
import type { Logger, Principal, TraceContext } from "./types.ts";

/** Initial fields of a context, for example for a job. All are optional. */
export interface ContextFields {
  /** The request id. Default: `""`, which means unknown. */
  readonly requestId?: string | undefined;
  /** The caller's trace context. Default: undefined. */
  readonly trace?: TraceContext | undefined;
  /** The verified caller. Default: undefined. */
  readonly principal?: Principal | undefined;
  /** The granted tenant. Default: undefined. */
  readonly tenantId?: string | undefined;
  /** A tenant that was named but not granted. Default: undefined. */
  readonly tenantClaimed?: string | undefined;
  /** The logger for the request or job. Default: undefined. */
  readonly log?: Logger | undefined;
}

/** Parses a caller's trace headers. Called at most once per context. */
export type TraceReader = (traceparent: string, tracestate: string | undefined) => TraceContext | undefined;

const NONE: readonly TraceContext[] = [];
const BEARER = /^Bearer [\w.~+/-]+=*$/i;

/**
 * Holds what is known about one request or job. Each package writes only its own field. All fields exist from the
 * start, so that the object's hidden class in V8 never changes.
 */
export class RequestContext {
  /** The id in `X-Request-ID`; `""` until a package sets it (COR-1). */
  requestId: string;
  principal: Principal | undefined;
  /** The granted tenant. */
  tenantId: string | undefined;
  /** A tenant that the request named but that was not granted. */
  tenantClaimed: string | undefined;
  log: Logger | undefined;
  /** Time at which the context was created, in milliseconds of `performance.now()`. */
  readonly startedAt: number;
  /**
   * The trace of the OpenTelemetry span that was active when the context became current: the request's own span, even for
   * code that runs where that span is lost.
   */
  enteredTrace: TraceContext | undefined;
  /** Time at which the response is due, in milliseconds of `performance.now()`; calls to other services end earlier. */
  deadline: number | undefined;
  // Private, so that the request and its secrets do not appear where a context is printed.
  readonly #request: { readonly headers: IncomingHttpHeaders } | undefined;
  #openTraces: readonly TraceContext[];
  #trace: TraceContext | undefined;
  #readTrace: TraceReader | undefined;
  #traceparent: string | undefined;
  #tracestate: string | undefined;

  /** @param request the request that the context belongs to */
  constructor(fields?: ContextFields, request?: { readonly headers: IncomingHttpHeaders }) {
    this.requestId = fields?.requestId ?? "";
    this.principal = fields?.principal;
    this.tenantId = fields?.tenantId;
    this.tenantClaimed = fields?.tenantClaimed;
    this.log = fields?.log;
    this.startedAt = performance.now();
    this.enteredTrace = undefined;
    this.deadline = undefined;
    this.#request = request;
    this.#openTraces = NONE;
    this.#trace = fields?.trace;
    this.#readTrace = undefined;
    this.#traceparent = undefined;
    this.#tracestate = undefined;
  }

  /**
   * The trace of the innermost open server or consumer span; without one, the caller's valid trace context (COR-9).
   * `currentTrace()` also considers spans of OpenTelemetry that other code has started.
   */
  get trace(): TraceContext | undefined {
    return this.openTrace ?? this.#callersTrace();
  }

  /**
   * The caller's `Authorization` header, if it contains a bearer token, for a client that may forward it (HTTP-3). The
   * token is not verified.
   */
  get bearer(): string | undefined {
    const given = this.#request?.headers.authorization;
    return given !== undefined && BEARER.test(given) ? given : undefined;
  }

  /** Replaces the caller's trace context. */
  set trace(trace: TraceContext | undefined) {
    this.#readTrace = undefined;
    this.#trace = trace;
  }

  /** The trace of the innermost open server or consumer span. */
  get openTrace(): TraceContext | undefined {
    return this.#openTraces.at(-1);
  }

  /**
   * Sets the context's `trace` to the trace of a server or consumer span while the span is open. `inSpan()` calls this
   * function; code that opens a span in another way must call it itself.
   *
   * @returns a function to call when the span ends
   */
  openSpan(trace: TraceContext): () => void {
    // Store a copy, so that two spans with the same trace context are distinguished.
    const opened = { ...trace };
    const others = this.#openTraces;
    // Usually only one span is open, and spreading an empty list would double the cost.
    this.#openTraces = others.length === 0 ? [opened] : [...others, opened];
    return () => {
      this.#openTraces = this.#openTraces.filter((each) => each !== opened);
    };
  }

  #callersTrace(): TraceContext | undefined {
    const read = this.#readTrace;
    if (read !== undefined) {
      this.#readTrace = undefined;
      this.#trace = read(this.#traceparent ?? "", this.#tracestate);
    }
    return this.#trace;
  }

  /**
   * Stores a caller's trace headers and parses them when `trace` is first read, which most requests never do. Keeps a
   * trace that the context already has.
   *
   * @param read returns undefined for an invalid `traceparent`
   */
  deferTrace(read: TraceReader, traceparent: string, tracestate: string | undefined): void {
    if (this.#trace !== undefined || this.#readTrace !== undefined) return;
    this.#readTrace = read;
    this.#traceparent = traceparent;
    this.#tracestate = tracestate;
  }
}

// If two copies of this package are installed, they share contexts through the symbol registry and globalThis.
const ON_REQUEST: unique symbol = Symbol.for("@svc/context/1") as never;
const ON_GLOBAL: unique symbol = Symbol.for("@svc/context/1/storage") as never;

interface WithContext {
  [ON_REQUEST]?: RequestContext;
}
interface WithStorage {
  [ON_GLOBAL]?: AsyncLocalStorage<RequestContext>;
}

const shared = globalThis as WithStorage;
const storage: AsyncLocalStorage<RequestContext> = (shared[ON_GLOBAL] ??= new AsyncLocalStorage());

/** Returns a request's context; undefined if no package has created it. Works wherever `req` is available. */
export function contextOf(req: IncomingMessage): RequestContext | undefined {
  return (req as WithContext)[ON_REQUEST];
}

/** Returns a request's context, and creates it if it does not exist. Used by packages that write a field of it. */
export function openContext(req: IncomingMessage): RequestContext {
  const holder = req as WithContext;
  return (holder[ON_REQUEST] ??= new RequestContext(undefined, req));
}

/**
 * Returns the context of the current request or job, or undefined outside of both. The context is lost in listeners for
 * a request's `data` and `end` events and in queues shared between requests: use `contextOf(req)` there.
 */
export function currentContext(): RequestContext | undefined {
  return storage.getStore();
}

/** Runs `fn` with `context` as the current context, and returns the return value of `fn`. */
export function runWithContext<T>(context: RequestContext, fn: () => T): T {
  return storage.run(context, fn);
}

/**
 * Makes the request's context current for all code that `next()` calls. If the context is already current, it only
 * calls `next()`, so only the first call per request has a cost. If a middleware has lost the context (such as a body
 * parser that calls `next()` from a stream's `end` event), a later call restores it.
 */
export function enterContext(
  req: IncomingMessage,
  _res: ServerResponse,
  next: (err?: unknown) => void,
): void {
  const context = openContext(req);
  if (storage.getStore() === context) next();
  else {
    context.enteredTrace ??= activeSpanTrace();
    storage.run(context, next);
  }
}

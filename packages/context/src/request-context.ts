import { AsyncLocalStorage } from "node:async_hooks";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Logger, Principal, TraceContext } from "./types.ts";

/** Initial fields of a context, for example for a job. All are optional. */
export interface ContextFields {
  /** Default: `""`, which means unknown. */
  readonly requestId?: string | undefined;
  /** Default: undefined. */
  readonly trace?: TraceContext | undefined;
  /** Default: undefined. */
  readonly principal?: Principal | undefined;
  /** Default: undefined. */
  readonly tenantId?: string | undefined;
  /** Default: undefined. */
  readonly tenantClaimed?: string | undefined;
  /** Default: undefined. */
  readonly log?: Logger | undefined;
}

/** Parses the trace headers of a caller. Called at most once per context. */
export type TraceReader = (traceparent: string, tracestate: string | undefined) => TraceContext | undefined;

/**
 * Holds what is known about one request or job. Each package writes only its own field. All fields exist from the start,
 * so that the object never changes its shape.
 */
export class RequestContext {
  /** The id of `X-Request-ID`; `""` until a package has set it (COR-1). */
  requestId: string;
  principal: Principal | undefined;
  /** The tenant that was granted. */
  tenantId: string | undefined;
  /** A tenant that the request named and that was not granted. */
  tenantClaimed: string | undefined;
  log: Logger | undefined;
  /** `performance.now()` when the context was made, in milliseconds. */
  readonly startedAt: number;
  #trace: TraceContext | undefined;
  #readTrace: TraceReader | undefined;
  #traceparent: string | undefined;
  #tracestate: string | undefined;

  constructor(fields?: ContextFields) {
    this.requestId = fields?.requestId ?? "";
    this.principal = fields?.principal;
    this.tenantId = fields?.tenantId;
    this.tenantClaimed = fields?.tenantClaimed;
    this.log = fields?.log;
    this.startedAt = performance.now();
    this.#trace = fields?.trace;
    this.#readTrace = undefined;
    this.#traceparent = undefined;
    this.#tracestate = undefined;
  }

  /** The caller's valid trace context (COR-9), or this service's own one when it exports spans. */
  get trace(): TraceContext | undefined {
    const read = this.#readTrace;
    if (read !== undefined) {
      this.#readTrace = undefined;
      this.#trace = read(this.#traceparent ?? "", this.#tracestate);
    }
    return this.#trace;
  }

  set trace(trace: TraceContext | undefined) {
    this.#readTrace = undefined;
    this.#trace = trace;
  }

  /**
   * Stores the trace headers of a caller and parses them at the first read of `trace`, which most requests never do.
   * Keeps a trace that the context already has.
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

// Two installed copies of this package share contexts through the symbol registry and globalThis.
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

/** Returns the context of a request, or undefined when no package has opened one. Works wherever `req` is available. */
export function contextOf(req: IncomingMessage): RequestContext | undefined {
  return (req as WithContext)[ON_REQUEST];
}

/** Returns the context of a request, and creates it at the first call. For packages that write a field of it. */
export function openContext(req: IncomingMessage): RequestContext {
  const holder = req as WithContext;
  return (holder[ON_REQUEST] ??= new RequestContext());
}

/**
 * Returns the context of the request or job whose code is running; undefined outside of both. Listeners for `data` and
 * `end` of a request and queues shared between requests lose it: use `contextOf(req)` there.
 */
export function currentContext(): RequestContext | undefined {
  return storage.getStore();
}

/** Runs `fn` with `context` as the current one and returns what it returns. */
export function runWithContext<T>(context: RequestContext, fn: () => T): T {
  return storage.run(context, fn);
}

/**
 * Makes the request's context current for all code that `next` runs. When it is current already, this only calls `next`,
 * so only the outermost middleware pays for it. When a middleware in between has lost it (a body parser that calls
 * `next` from a stream's `end` event), the next call restores it.
 */
export function enterContext(
  req: IncomingMessage,
  _res: ServerResponse,
  next: (err?: unknown) => void,
): void {
  const context = openContext(req);
  if (storage.getStore() === context) next();
  else storage.run(context, next);
}

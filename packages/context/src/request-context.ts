import { AsyncLocalStorage } from "node:async_hooks";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Logger, Principal, TraceContext } from "./types.ts";

/** What a context can be made with, for a job say. Every field may be left out. */
export interface ContextFields {
  /** Default: `""`, not known yet. */
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

/** Reads the trace headers of a caller. Pure: it is called once, or never. */
export type TraceReader = (traceparent: string, tracestate: string | undefined) => TraceContext | undefined;

/**
 * What is known about the request or job at hand. One mutable object per request; every package writes
 * only its own field. All fields exist from the start, so that the object never changes its shape.
 */
export class RequestContext {
  /** The id of `X-Request-ID`; `""` until a package has set it (COR-1). */
  requestId: string;
  principal: Principal | undefined;
  /** The tenant that was granted. */
  tenantId: string | undefined;
  /** A tenant that was named and not granted. */
  tenantClaimed: string | undefined;
  log: Logger | undefined;
  /** `performance.now()` at the moment the context was made, in milliseconds. */
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

  /** The caller's valid trace context (COR-9), or the own one of a service that exports spans. */
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
   * Keeps the headers of a caller, to be read when somebody asks for the trace: most requests are over before anybody
   * does. A trace that is there already is kept.
   *
   * @param read gives undefined for a `traceparent` that is not valid
   */
  deferTrace(read: TraceReader, traceparent: string, tracestate: string | undefined): void {
    if (this.#trace !== undefined || this.#readTrace !== undefined) return;
    this.#readTrace = read;
    this.#traceparent = traceparent;
    this.#tracestate = tracestate;
  }
}

// The registry of symbols and globalThis, because two installed copies of this package must share both.
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

/** The context of a request, or undefined when no package has opened one. Works wherever `req` is at hand. */
export function contextOf(req: IncomingMessage): RequestContext | undefined {
  return (req as WithContext)[ON_REQUEST];
}

/** The context of a request, made when there is none yet. For packages that write a field of it. */
export function openContext(req: IncomingMessage): RequestContext {
  const holder = req as WithContext;
  return (holder[ON_REQUEST] ??= new RequestContext());
}

/**
 * The context of the code that is running: a request's or a job's; undefined outside of both. It is lost in
 * `data` and `end` listeners of a request and in queues shared between requests: use `contextOf(req)` there.
 */
export function currentContext(): RequestContext | undefined {
  return storage.getStore();
}

/** Runs `fn` with `context` as the current one and returns what it returns. */
export function runWithContext<T>(context: RequestContext, fn: () => T): T {
  return storage.run(context, fn);
}

/**
 * Makes the request's context the current one for everything behind `next`. Idempotent: where it is current
 * already, this calls `next` and nothing else, so only the outermost middleware pays for it. Where a
 * middleware in between has lost it (a body parser that calls on from a stream's `end` event), the next one
 * restores it.
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

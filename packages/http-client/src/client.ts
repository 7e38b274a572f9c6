import type { Readable } from "node:stream";
import { currentContext, inSpan, type OpenSpan, type ReadinessCheck } from "@svc/context";
import { createBreaker, endsWithin, safeLogger } from "@svc/resilience";
import type { Pool } from "undici";
import { createBulkhead } from "./bulkhead.ts";
import { type Call, send } from "./call.ts";
import { type CallLimit, createCallLimit } from "./call-limit.ts";
import { type CallOptions, checkCall, pathOf } from "./call-options.ts";
import type { Answer } from "./exchange.ts";
import { problemOf, stopped, UpstreamError } from "./failures.ts";
import { type ClientOptions, clientOptions } from "./options.ts";
import { upstreamCheck } from "./readiness.ts";
import { redirectOf } from "./redirects.ts";
import { bodyOf } from "./request-body.ts";
import { requestHeaders } from "./request-headers.ts";
import { BufferedResponse, type ClientResponse, type StreamedResponse } from "./response.ts";
import { createRetryBudget } from "./retry-budget.ts";

/** Longest time that `stop()` waits for running calls, in milliseconds. */
const STOP_MS = 5_000;

/** Sends a call with a fixed method. */
export type CallMethod = (path: string, options?: CallOptions) => Promise<ClientResponse>;

/** Calls one service. The path of a call begins with `/`; a promise rejects with a `ProblemError` if the service fails. */
export interface Client {
  readonly request: (method: string, path: string, options?: CallOptions) => Promise<ClientResponse>;
  readonly get: CallMethod;
  readonly post: CallMethod;
  readonly put: CallMethod;
  readonly patch: CallMethod;
  readonly delete: CallMethod;
  /** Like `request`, for a body of any size: the response resolves when its headers have arrived. */
  readonly stream: (method: string, path: string, options?: CallOptions) => Promise<StreamedResponse>;
  readonly readiness: () => ReadinessCheck;
  /**
   * Rejects further calls, ends calls that wait for a free slot or for their next try, waits up to 5 s for running calls,
   * and closes all connections.
   */
  readonly stop: () => Promise<void>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

/**
 * Creates a client for one service, with time limits, retries within a budget, a circuit breaker, and a limit of concurrent
 * calls. Calls carry request id and trace of the current request or job (HTTP-1, TRACE-19), never the tenant (HTTP-2).
 *
 * @throws ConfigurationError for unknown and invalid options
 */
export function createClient(options: ClientOptions): Client {
  const resolved = clientOptions.resolve(options);
  const { name, baseUrl, now, span: hook, forwardAuthorization, maxRedirects } = resolved;
  const log = safeLogger(resolved.logger);
  const breaker = createBreaker({
    failures: resolved.breakerFailures,
    coolDownMs: resolved.breakerCoolDownSeconds * 1000,
    onChange({ to, failures }) {
      if (to === "open")
        log?.warn({ upstream: name, failures }, "a service is not answering; calls are refused");
      else if (to === "closed") log?.info({ upstream: name }, "a service is answering again");
    },
    now,
  });
  const bulkhead = createBulkhead(resolved.maxConcurrentCalls, resolved.maxWaitSeconds * 1000);
  const budget = createRetryBudget(resolved.retryBudget, now);
  const spanAttributes = { "jfast.upstream": name, "server.address": new URL(baseUrl).hostname };
  const opening = openPool();
  // The first call reports a module that cannot be loaded.
  opening.catch(() => undefined);
  let pool: Pool | undefined;
  const limits = new Set<CallLimit>();
  let stopping: Promise<void> | undefined;

  // undici takes 70 ms to load, so it is imported only when a client is created.
  async function openPool(): Promise<Pool> {
    const undici = await import("undici");
    pool = new undici.Pool(baseUrl, {
      connections: resolved.maxConcurrentCalls,
      allowH2: false,
      connect: { timeout: resolved.connectTimeoutSeconds * 1000 },
    });
    return pool;
  }

  async function call(
    method: string,
    path: string,
    given: CallOptions,
    isStreamed: boolean,
  ): Promise<Answer> {
    checkCall(method, given);
    const target = pathOf(path, given.query);
    const body = bodyOf(given);
    given.signal?.throwIfAborted();
    if (stopping !== undefined) throw failed(stopped());
    const at = now();
    const total = resolved.totalTimeoutSeconds;
    const longest = (given.totalTimeoutSeconds ?? total) * 1000;
    const endsAt = Math.min(at + longest, currentContext()?.deadline ?? Infinity);
    // A shorter limit comes from the caller, so it does not count as a failure of the upstream.
    const countsAsFailure = endsAt >= at + total * 1000;
    if (endsAt <= at) throw failed(new UpstreamError("timeout", "the request is already due"));

    const sendCall = (span: OpenSpan | undefined): Promise<Answer> => {
      const headers = requestHeaders(given.headers, span, forwardAuthorization);
      const acceptsEncoding = hasHeader(headers, "accept-encoding");
      if (!acceptsEncoding && !isStreamed) headers["Accept-Encoding"] = "identity";
      if (body.type !== undefined && !hasHeader(headers, "content-type")) headers["Content-Type"] = body.type;
      const ready: Call = { method, path: target, headers, body, isStreamed, acceptsEncoding };
      return runLimited(
        ready,
        createCallLimit({ ms: Math.max(0, endsAt - now()), endsAt, countsAsFailure }, given.signal),
        span,
        given,
      );
    };
    if (hook === undefined) return sendCall(undefined);
    return inSpan(hook, `${method} ${name}`, "client", spanAttributes, sendCall);
  }

  async function runLimited(
    ready: Call,
    limit: CallLimit,
    span: OpenSpan | undefined,
    { signal, throwOn4xx = resolved.throwOn4xx }: CallOptions,
  ): Promise<Answer> {
    let isEntered = false;
    let answer: Answer | undefined;
    try {
      limits.add(limit);
      if (stopping !== undefined) throw stopped();
      isEntered = (await (bulkhead.enter(limit) ?? true)) === true;
      if (!isEntered) throw new UpstreamError("unavailable", "too many calls at the same time");
      const isStopped = (): boolean => stopping !== undefined;
      const tools = { options: resolved, breaker, budget, pool: pool ?? (await opening), isStopped };
      answer = await followRedirects(ready, limit, span, tools);
      refuseFailure(answer, throwOn4xx);
      if (answer.body !== undefined && signal !== undefined) destroyOnAbort(answer.body, signal);
      return answer;
    } catch (error) {
      answer?.body?.destroy();
      throw error instanceof UpstreamError ? failed(error) : error;
    } finally {
      limit.release();
      limits.delete(limit);
      if (isEntered) {
        if (answer?.body === undefined || answer.body.closed) bulkhead.leave();
        else answer.body.once("close", () => bulkhead.leave());
      }
    }
  }

  async function followRedirects(
    ready: Call,
    limit: CallLimit,
    span: OpenSpan | undefined,
    tools: Parameters<typeof send>[3],
  ): Promise<Answer> {
    let answer = await send(ready, limit, span, tools);
    if (maxRedirects === 0 || !/^(GET|HEAD)$/.test(ready.method)) return answer;
    let { path } = ready;
    for (let left = maxRedirects; ; left--) {
      const next = redirectOf(answer, baseUrl, path);
      if (next === undefined) return answer;
      answer.body?.destroy();
      if (left === 0) throw new UpstreamError("invalid", `more than ${maxRedirects} redirects`);
      path = next;
      answer = await send({ ...ready, path }, limit, span, tools);
    }
  }

  function failed(error: UpstreamError): Error {
    return problemOf(name, error, Math.max(1000, breaker.retryAfterMs));
  }

  async function request(method: string, path: string, given: CallOptions = {}): Promise<ClientResponse> {
    const { status, headers, chunks } = await call(method, path, given, false);
    return new BufferedResponse(name, status, headers, chunks);
  }

  async function close(): Promise<void> {
    for (const limit of limits) limit.endWait(stopped());
    const open = await opening.catch(() => undefined);
    if (open === undefined) return;
    if (!(await endsWithin(STOP_MS, open.close()))) await open.destroy();
  }

  const stop = (): Promise<void> => (stopping ??= close());
  return {
    request,
    get: (path, given) => request("GET", path, given),
    post: (path, given) => request("POST", path, given),
    put: (path, given) => request("PUT", path, given),
    patch: (path, given) => request("PATCH", path, given),
    delete: (path, given) => request("DELETE", path, given),
    async stream(method, path, given = {}) {
      const { status, headers, body } = await call(method, path, given, true);
      if (body === undefined) throw new Error("a streamed response has a body");
      return { status, headers, body };
    },
    readiness: () => upstreamCheck(name, resolved.critical, breaker, bulkhead),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Destroys a streamed body with the reason of the caller's signal. */
function destroyOnAbort(body: Readable, signal: AbortSignal): void {
  const abort = (): void => void body.destroy(signal.reason as Error);
  if (signal.aborted) return abort();
  signal.addEventListener("abort", abort, { once: true });
  body.once("close", () => signal.removeEventListener("abort", abort));
}

/** @throws UpstreamError for a status that is a failure */
function refuseFailure({ status }: Answer, throwOn4xx: boolean): void {
  if (status >= 500) {
    const kind = status === 504 ? "timeout" : status === 502 || status === 503 ? "unavailable" : "invalid";
    throw new UpstreamError(kind, `status ${status}`, { status });
  }
  if (status >= 400 && throwOn4xx) throw new UpstreamError("refused", `status ${status}`, { status });
}

function hasHeader(headers: Readonly<Record<string, unknown>>, name: string): boolean {
  for (const each in headers) if (each.toLowerCase() === name) return true;
  return false;
}

import { Readable } from "node:stream";
import type { OpenSpan } from "@svc/context";
import type { Breaker } from "@svc/resilience";
import type { Dispatcher } from "undici";
import type { CallLimit } from "./call-limit.ts";
import { type Answer, Exchange } from "./exchange.ts";
import { codeOf, problemOf, stopped, UpstreamError } from "./failures.ts";
import type { ResolvedClient } from "./options.ts";
import { mayRepeat, waitAfter } from "./retries.ts";
import type { RetryBudget } from "./retry-budget.ts";
import type { SendableBody } from "./request-body.ts";
import { isStop, transportFailure } from "./transport-failure.ts";

/** A call, ready to be sent. */
export interface Call {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: SendableBody;
  /** Whether the body of the response is a stream. */
  readonly isStreamed: boolean;
  readonly acceptsEncoding: boolean;
}

/** The parts of a client that its calls use. */
export interface CallTools {
  readonly options: ResolvedClient;
  readonly breaker: Breaker;
  readonly budget: RetryBudget;
  readonly pool: Dispatcher;
  /** Returns whether the client is stopped; a stopped client retries no call. */
  readonly isStopped: () => boolean;
}

/**
 * Sends a call, and retries it after temporary failures, until it has a final response.
 *
 * @param span gets the status, and the number of retries if there were any (TRACE-9)
 * @throws UpstreamError without a usable response
 * @throws the reason of the call's limit, if that ended the call; the circuit breaker counts such a try only if the limit
 *   is the client's own time limit
 */
export async function send(
  call: Call,
  limit: CallLimit,
  span: OpenSpan | undefined,
  { options, breaker, budget, pool, isStopped }: CallTools,
): Promise<Answer> {
  const isRepeatable = call.body.isRepeatable && mayRepeat(call.method, call.headers);
  budget.called();
  let outcome: Answer | UpstreamError | undefined;
  let sent = 0;
  try {
    while (sent < options.attempts) {
      const attempt = breaker.attempt();
      if (attempt === undefined) {
        outcome ??= new UpstreamError("unavailable", "the circuit breaker is open");
        break;
      }
      sent += 1;
      try {
        outcome = await tryOnce(call, limit, options, pool);
      } catch (error) {
        attempt.cancelled();
        throw error;
      }
      if (isOutage(outcome)) attempt.failed();
      else attempt.succeeded();
      const wait = isRepeatable && sent < options.attempts ? waitAfter(outcome, sent) : undefined;
      if (wait === undefined || options.now() + wait >= limit.endsAt || isStopped() || !budget.take()) break;
      outcome = withoutStream(outcome);
      await limit.wait(wait);
    }
  } finally {
    if (sent > 1) span?.set({ "http.request.resend_count": sent - 1 });
  }
  if (outcome instanceof UpstreamError) throw outcome;
  if (outcome === undefined) throw new UpstreamError("unavailable", "no try was made");
  span?.set({ "http.response.status_code": outcome.status });
  return outcome;
}

async function tryOnce(
  { method, path, headers, body, isStreamed, acceptsEncoding }: Call,
  limit: CallLimit,
  { name, maxBodyBytes, headersTimeoutSeconds, bodyTimeoutSeconds }: ResolvedClient,
  pool: Dispatcher,
): Promise<Answer | UpstreamError> {
  const exchange = new Exchange({
    method,
    maxBodyBytes: isStreamed ? undefined : maxBodyBytes,
    headersTimeoutMs: headersTimeoutSeconds * 1000,
    acceptsEncoding,
    errorOfBody: (error) => problemOf(name, transportFailure(error, true), 0),
  });
  limit.watch((reason) => exchange.abort(reason as Error));
  try {
    pool.dispatch(
      {
        method,
        path,
        headers,
        body: body.content,
        headersTimeout: headersTimeoutSeconds * 1000,
        bodyTimeout: bodyTimeoutSeconds * 1000,
      },
      exchange,
    );
    return await exchange.answer;
  } catch (error) {
    throwOwn(error, body, limit);
    return transportFailure(error, exchange.hasBegun);
  } finally {
    limit.watch(undefined);
  }
}

/** Throws an error that the upstream has not caused: of the call's limit, body or arguments, or of a stopped client. */
function throwOwn(error: unknown, { content }: SendableBody, { reason }: CallLimit): void {
  const isFailure = reason instanceof UpstreamError && reason.fault === "connection";
  if (reason !== undefined && !isFailure) throw reason as Error;
  if (isStop(error)) throw stopped();
  if (content instanceof Readable && content.errored === error) throw error;
  if (content instanceof Readable && content.destroyed && codeOf(error) === "UND_ERR_ABORTED")
    throw new TypeError("the body of the call was destroyed before its end", { cause: error });
  if (codeOf(error) === "UND_ERR_INVALID_ARG")
    throw new TypeError((error as Error).message, { cause: error });
}

/** Returns the outcome for the caller if no other try can be made. A streamed response is ended instead. */
function withoutStream(outcome: Answer | UpstreamError): Answer | UpstreamError | undefined {
  if (outcome instanceof UpstreamError || outcome.body === undefined) return outcome;
  outcome.body.destroy();
  return undefined;
}

/** Returns whether an outcome indicates that the service is down. */
function isOutage(outcome: Answer | UpstreamError): boolean {
  if (outcome instanceof UpstreamError) return outcome.fault !== "limit";
  return outcome.status >= 502 && outcome.status <= 504;
}

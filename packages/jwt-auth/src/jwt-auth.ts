import type { IncomingMessage, ServerResponse } from "node:http";
import {
  enterContext,
  type Logger,
  type Middleware,
  openContext,
  type ReadinessCheck,
  type RequestContext,
} from "@svc/context";
import { forbidden, internalError, type ProblemError, serviceUnavailable } from "@svc/problem";
import { safeLogger } from "@svc/resilience";
import { bearerToken, mayCarryCookies } from "./bearer.ts";
import type { JwtAuthOptions } from "./options.ts";
import { resolveAuth } from "./resolve-issuers.ts";
import { authReadiness } from "./readiness.ts";
import { createRevocationGates } from "./revocation-gates.ts";
import type { RevocationAnswer, RevocationGate } from "./revocation.ts";
import type { Verification, Verified } from "./verification.ts";
import type { Verifier } from "./verifier.ts";

/** The middleware of {@link jwtAuth}, with its verifier, readiness check and stop function. */
export interface JwtAuth extends Middleware, AsyncDisposable {
  /** Verifies tokens from other sources, such as a queue, by the same rules. Does not check revocation. */
  readonly verifier: Verifier;
  /** Creates the readiness check `auth`, which never fetches or waits. */
  readiness(): ReadinessCheck;
  /**
   * Stops the timer and the fetch of its own key source, but not of a source given as `keys`. Requests continue to use
   * the keys fetched so far.
   */
  stop(): void;
}

// Requests whose refusal has been logged: one log record per request, even if several instances refuse its token.
const logged = new WeakSet<IncomingMessage>();

type Next = (err?: unknown) => void;

/** Argument of `next`: an error, or undefined to continue. */
type Refusal = ProblemError | undefined;

/**
 * Verifies the bearer token of a request and puts the caller into its context (AUTH-1). A request without a valid token
 * continues without a caller (AUTH-12), and guards decide whether the route needs a caller. The reason for refusing a
 * token is only logged (AUTH-11). A caller that is already in the context is kept.
 *
 * Rejects a request only in three cases: with 503 to a valid token while the revocation store is down and
 * `revocationFailOpen` is false (REV-5), with 403 to an unsafe request from another origin with a token from
 * `tokenFrom` (AUTH-34), and with 500 after an internal error.
 *
 * @throws ConfigurationError for unknown, invalid or forbidden options (AUTH-5, AUTH-31, AUTH-32)
 */
export function jwtAuth(options: JwtAuthOptions): JwtAuth {
  const resolved = resolveAuth(options);
  const { verifier, ownKeys, tokenFrom, logger, revocation, revocationFailOpen: failOpen } = resolved;
  const { revocationTimeoutMs: timeoutMs, now } = resolved;
  const gates = createRevocationGates(revocation, resolved.revocations, { failOpen, timeoutMs, now });
  if (resolved.audienceWarning !== undefined) warnOnce(resolved.audienceWarning, logger);

  function jwtAuthMiddleware(req: IncomingMessage, res: ServerResponse, next: Next): void {
    const context = openContext(req);
    if (context.principal !== undefined) {
      enterContext(req, res, next);
      return;
    }
    let refusal: Refusal | Promise<Refusal>;
    try {
      refusal = identify(req, context);
    } catch (error) {
      refusal = failure(error);
    }
    if (!(refusal instanceof Promise)) leave(req, res, next, refusal);
    else void refusal.catch(failure).then((late) => leave(req, res, next, late));
  }

  /** Verifies the token of the request, if any, and writes the caller into the context. */
  function identify(req: IncomingMessage, context: RequestContext): Refusal | Promise<Refusal> {
    let token = bearerToken(req);
    const fromElsewhere = token === undefined && tokenFrom !== undefined;
    if (fromElsewhere) token = checkedToken(tokenFrom(req));
    if (token === undefined) return undefined;
    const found = token === "" ? NO_TOKEN : verifier.verify(token);
    return found instanceof Promise
      ? found.then((late) => admit(req, context, late, fromElsewhere))
      : admit(req, context, found, fromElsewhere);
  }

  function admit(
    req: IncomingMessage,
    context: RequestContext,
    found: Verification,
    fromElsewhere: boolean,
  ): Refusal | Promise<Refusal> {
    // Check `reason`, an own property of every refusal: a polluted prototype could supply `principal`.
    if (found.reason !== undefined) return ignored(req, context, found);
    if (fromElsewhere && !mayCarryCookies(req)) return crossSite();
    const gate = gates.gateFor(found);
    if (gate === undefined) {
      context.principal = found.principal;
      return undefined;
    }
    const answer = gate.ask(found, context.log ?? logger);
    return answer instanceof Promise
      ? answer.then((late) => conclude(req, context, found, late, gate))
      : conclude(req, context, found, answer, gate);
  }

  function conclude(
    req: IncomingMessage,
    context: RequestContext,
    found: Verified,
    answer: RevocationAnswer,
    gate: RevocationGate,
  ): Refusal {
    if (answer === "revoked") return ignored(req, context, REVOKED);
    if (answer === "unknown" && !failOpen) return storeIsOut(gate.retryAfterSeconds);
    context.principal = found.principal;
    return undefined;
  }

  /** Logs why a token is ignored. */
  function ignored(req: IncomingMessage, context: RequestContext, why: Reason): undefined {
    if (logged.has(req)) return undefined;
    logged.add(req);
    const id = context.requestId;
    const fields = {
      reason: why.reason,
      ...(why.at === undefined ? {} : { at: why.at }),
      ...(id === "" ? {} : { request_id: id }),
    };
    safeLogger(context.log ?? logger)?.info(fields, "bearer token refused");
    return undefined;
  }

  return Object.assign(jwtAuthMiddleware, {
    verifier,
    readiness: () => authReadiness(verifier.keys, gates, failOpen),
    stop,
    [Symbol.asyncDispose]: async () => stop(),
  });

  function stop(): void {
    ownKeys?.stop?.();
  }
}

/** Fields of the log record: why the token was refused, and the claim or header at fault. */
interface Reason {
  readonly reason: string;
  readonly at?: string | undefined;
}

let warnedOfAudience = false;

/** Warns to the logger or, once per thread of the process, on standard error. */
function warnOnce(message: string, logger: Logger | undefined): void {
  if (logger !== undefined) safeLogger(logger)?.warn({}, message);
  else if (!warnedOfAudience) {
    warnedOfAudience = true;
    process.emitWarning(`jwtAuth(): ${message}`, { code: "JWT_NO_AUDIENCE" });
  }
}

const NO_TOKEN: Verification = Object.freeze({ reason: "malformed", at: "authorization" });
const REVOKED: Reason = Object.freeze({ reason: "revoked" });

function leave(req: IncomingMessage, res: ServerResponse, next: Next, refusal: Refusal): void {
  enterContext(req, res, refusal === undefined ? next : () => next(refusal));
}

// The application's `tokenFrom` may return any value, but only a string can be a token.
function checkedToken(token: unknown): string | undefined {
  if (token === undefined || token === null || token === "") return undefined;
  if (typeof token === "string") return token;
  // A promise is not a token either. Handle its rejection, because an unhandled rejection would end the process.
  const isPromise = token instanceof Promise;
  if (isPromise) token.catch(() => undefined);
  throw new TypeError(
    `tokenFrom() must return a string; it returned ${isPromise ? "a promise" : typeof token}`,
  );
}

function failure(cause: unknown): ProblemError {
  return internalError({ code: "ERR_SVC_AUTH_FAILED", cause });
}

function crossSite(): ProblemError {
  return forbidden("this request must come from a page of the same origin", { code: "ERR_SVC_CROSS_ORIGIN" });
}

function storeIsOut(retryAfterSeconds: number): ProblemError {
  return serviceUnavailable("the revocation store is not answering; retry shortly", {
    code: "ERR_SVC_REVOCATION_UNAVAILABLE",
    retryAfterSeconds,
  });
}

import type { IncomingMessage, ServerResponse } from "node:http";
import {
  enterContext,
  type Middleware,
  openContext,
  type ReadinessCheck,
  type RequestContext,
} from "@svc/context";
import { forbidden, internalError, type ProblemError, serviceUnavailable } from "@svc/problem";
import { bearerToken } from "./bearer.ts";
import type { JwtAuthOptions } from "./options.ts";
import { resolveJwtAuth } from "./resolve-jwt-auth.ts";
import { authReadiness } from "./readiness.ts";
import { createRevocationGate, type RevocationAnswer } from "./revocation.ts";
import { mayCarryCookies } from "./same-origin.ts";
import { say } from "./say.ts";
import type { Verification, Verified } from "./verification.ts";
import type { Verifier } from "./verifier.ts";

/** The middleware of {@link jwtAuth} and what belongs to it. */
export interface JwtAuth extends Middleware, AsyncDisposable {
  /** Verifies tokens that come from elsewhere, a queue say, by the same rules. It asks no revocation store. */
  readonly verifier: Verifier;
  /** The check `auth` for `/ready`. It reads, it never fetches or waits. */
  readiness(): ReadinessCheck;
  /** Ends what the key source that it made has under way. Requests are answered with the keys at hand. */
  stop(): void;
}

// One line a request, however many instances look at its token.
const told = new WeakSet<IncomingMessage>();

type Next = (err?: unknown) => void;

/** What `next` is called with: undefined where the request goes on. */
type Refusal = ProblemError | undefined;

/**
 * Verifies the bearer token of a request and puts the caller into its context (AUTH-1). A request without a token, or
 * with a bad one, goes on without a caller (AUTH-12): whether that will do is for the guards to say. Why a token is bad
 * goes to the log only (AUTH-11). A caller that the context has already is kept.
 *
 * Requests it does refuse: with a valid token while the revocation store is out and must not be (503, REV-5), by a page
 * of another origin with a token of `tokenFrom` (403, AUTH-34), and when it fails itself (500).
 *
 * @throws ConfigurationError for unknown or wrong options, and for what must not be configured (AUTH-5, AUTH-31, AUTH-32)
 */
export function jwtAuth(options: JwtAuthOptions): JwtAuth {
  const resolved = resolveJwtAuth(options);
  const { verifier, ownKeys, tokenFrom, logger, revocation, revocationFailOpen: failOpen } = resolved;
  const { revocationTimeoutMs: timeoutMs, now } = resolved;
  const gate =
    revocation === undefined
      ? undefined
      : createRevocationGate({ check: revocation, failOpen, timeoutMs, now });
  if (!resolved.hasAudience) {
    say(
      logger,
      "warn",
      {},
      "no audience is configured: tokens that were made for other services are accepted",
    );
  }

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

  /** Writes the caller into the context, where there is one. */
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
    // Asked for what a refusal has itself: a prototype that somebody polluted must not lend it a principal.
    if (found.reason !== undefined) return ignored(req, context, found);
    if (fromElsewhere && !mayCarryCookies(req)) return crossSite();
    if (gate === undefined) {
      context.principal = found.principal;
      return undefined;
    }
    const answer = gate.ask(found, context.log ?? logger);
    return answer instanceof Promise
      ? answer.then((late) => conclude(req, context, found, late))
      : conclude(req, context, found, answer);
  }

  function conclude(
    req: IncomingMessage,
    context: RequestContext,
    found: Verified,
    answer: RevocationAnswer,
  ): Refusal {
    if (answer === "revoked") return ignored(req, context, REVOKED);
    if (answer === "unknown" && !failOpen) return storeIsOut(gate?.retryAfterSeconds);
    context.principal = found.principal;
    return undefined;
  }

  /** Says why a token is as good as none. */
  function ignored(req: IncomingMessage, context: RequestContext, why: Reason): undefined {
    if (told.has(req)) return undefined;
    told.add(req);
    const id = context.requestId;
    const fields = {
      reason: why.reason,
      ...(why.at === undefined ? {} : { at: why.at }),
      ...(id === "" ? {} : { request_id: id }),
    };
    say(context.log ?? logger, "info", fields, "bearer token refused");
    return undefined;
  }

  return Object.assign(jwtAuthMiddleware, {
    verifier,
    readiness: () => authReadiness(verifier.keys, gate, failOpen),
    stop,
    [Symbol.asyncDispose]: async () => stop(),
  });

  function stop(): void {
    ownKeys?.stop?.();
  }
}

/** What the log learns. */
interface Reason {
  readonly reason: string;
  readonly at?: string | undefined;
}

const NO_TOKEN: Verification = Object.freeze({ reason: "malformed", at: "authorization" });
const REVOKED: Reason = Object.freeze({ reason: "revoked" });

function leave(req: IncomingMessage, res: ServerResponse, next: Next, refusal: Refusal): void {
  enterContext(req, res, refusal === undefined ? next : () => next(refusal));
}

// What the application's own function gives may be anything; only a string can be a token.
function checkedToken(token: unknown): string | undefined {
  if (token === undefined || token === null || token === "") return undefined;
  if (typeof token === "string") return token;
  // What is wrong is said of every promise, also of one that rejects: unhandled it would end the process.
  const isPromise = token instanceof Promise;
  if (isPromise) token.catch(() => undefined);
  throw new TypeError(`tokenFrom() must give a string; it gave ${isPromise ? "a promise" : typeof token}`);
}

function failure(cause: unknown): ProblemError {
  return internalError({ code: "ERR_SVC_AUTH_FAILED", cause });
}

function crossSite(): ProblemError {
  return forbidden("this request must come from a page of the same origin", { code: "ERR_SVC_CROSS_ORIGIN" });
}

function storeIsOut(retryAfterSeconds = 1): ProblemError {
  return serviceUnavailable("the revocation store is not answering; retry shortly", {
    code: "ERR_SVC_REVOCATION_UNAVAILABLE",
    retryAfterSeconds,
  });
}

import type { Logger, RevocableToken } from "@svc/context";
import { kinds as k } from "@svc/options";
import {
  atMostEvery,
  type Attempt,
  createBreaker,
  errorFields,
  isThenable,
  safeLogger,
  withDeadline,
} from "@svc/resilience";
import type { Verified } from "./verification.ts";

/** Reports revoked tokens. Called at every use of a token; the result is not cached. */
export interface RevocationCheck {
  /**
   * Returns whether the token is revoked, directly or as a promise. Throws or rejects when the store does not respond.
   */
  isRevoked(token: RevocableToken): boolean | Promise<boolean>;
}

/** Kind of an option that takes a revocation check. */
export const revocationKind: k.OptionalKind<RevocationCheck, undefined> = k.optional(
  k.objectWith<RevocationCheck>("a revocation check", "isRevoked"),
);

/** `unknown`: the store did not respond. */
export type RevocationAnswer = "valid" | "revoked" | "unknown";

export type RevocationGate = ReturnType<typeof createRevocationGate>;

export interface RevocationGateOptions {
  readonly check: RevocationCheck;
  /** The issuer for log messages, if there are several. */
  readonly issuer?: string | undefined;
  readonly failOpen: boolean;
  readonly timeoutMs: number;
  readonly now: (() => number) | undefined;
}

const BREAKER_FAILURES = 3;
const BREAKER_COOL_DOWN_MS = 2_000;
const WARNING_INTERVAL_MS = 10_000;

/**
 * Creates a guarded client of a revocation store. A query takes at most `timeoutMs`. Three consecutive failures open a
 * circuit breaker for two seconds; then one query tests the store (REV-4, REV-5).
 */
export function createRevocationGate(options: RevocationGateOptions) {
  const { check, issuer, failOpen, timeoutMs, now } = options;
  const ofIssuer = issuer === undefined ? {} : { issuer };
  const breaker = createBreaker({ failures: BREAKER_FAILURES, coolDownMs: BREAKER_COOL_DOWN_MS, now });
  const consequence = failOpen
    ? "tokens are accepted without the check"
    : "requests with a valid token get a 503";
  let answering = true;
  let hasWarned = false;

  const warn = atMostEvery(
    WARNING_INTERVAL_MS,
    (suppressed, log: Logger | undefined, error: unknown) => {
      hasWarned = true;
      safeLogger(log)?.warn(
        { ...ofIssuer, ...errorFields(error), suppressed },
        `the revocation store is not answering; ${consequence}`,
      );
    },
    { now },
  );

  function lost(log: Logger | undefined, error: unknown): "unknown" {
    answering = false;
    warn(log, error);
    return "unknown";
  }

  function heard(log: Logger | undefined, answer: unknown): RevocationAnswer {
    answering = true;
    if (hasWarned && breaker.state === "closed") {
      hasWarned = false;
      safeLogger(log)?.info(ofIssuer, "the revocation store answers again");
    }
    if (typeof answer === "boolean") return answer ? "revoked" : "valid";
    throw new TypeError(`isRevoked() must return true or false; it returned ${typeof answer}`);
  }

  async function wait(
    answer: Promise<unknown>,
    attempt: Attempt | undefined,
    log: Logger | undefined,
  ): Promise<RevocationAnswer> {
    let revoked: unknown;
    try {
      revoked = await withDeadline(timeoutMs, () => answer);
    } catch (error) {
      attempt?.failed();
      return lost(log, error);
    }
    attempt?.succeeded();
    return heard(log, revoked);
  }

  /** Queries the store. Throws a TypeError when the result is neither true nor false: that is a bug, not an outage. */
  function ask(verified: Verified, log: Logger | undefined): RevocationAnswer | Promise<RevocationAnswer> {
    // While the breaker is closed, create an attempt object only if the store returns a promise (below).
    const trial = breaker.state === "closed" ? undefined : breaker.attempt();
    if (trial === undefined && breaker.state !== "closed") {
      warn(log, undefined);
      return "unknown";
    }
    let answer: unknown;
    try {
      answer = check.isRevoked(revocable(verified));
    } catch (error) {
      (trial ?? breaker).failed();
      return lost(log, error);
    }
    if (isThenable(answer)) return wait(answer, trial ?? breaker.attempt(), log);
    (trial ?? breaker).succeeded();
    return heard(log, answer);
  }

  return {
    ask,
    /** Whether the store responded to the last query. */
    get answering(): boolean {
      return answering;
    },
    /** Seconds after which a client may retry, at least 1. */
    get retryAfterSeconds(): number {
      return Math.max(1, Math.ceil(breaker.retryAfterMs / 1_000));
    },
  };
}

function revocable({ principal, signedInAt }: Verified): RevocableToken {
  return { jti: principal.tokenId, fam: principal.family, sub: principal.subject, signedInAt };
}

import { collectingLogger, type CollectingLogger } from "@svc/test-support";
import { createKeyRing, createTokenIssuer, type IssuerEvent, type KeyRing } from "@svc/token-issuer";
import type { IssuerStore, TokenIssuer, TokenIssuerOptions, TokenPair } from "@svc/token-issuer";
import { createMemoryTokenStore } from "@svc/token-store";
import { expect } from "chai";
import { isProblemError, type ProblemError } from "@svc/problem";

export const SECRET = "a secret of at least 32 bytes, for tests";
export const DAY = 86_400;

/** A clock in milliseconds that advances only by `forward()`. */
export interface TestClock {
  (): number;
  forward(seconds: number): void;
}

export function testClock(): TestClock {
  // Start near the real time, because some libraries use their own clock, and on a whole second.
  let at = Math.floor(Date.now() / 1000) * 1000;
  return Object.assign(() => at, {
    forward(seconds: number) {
      at += seconds * 1000;
    },
  });
}

export interface Issuing {
  readonly issuer: TokenIssuer;
  readonly store: IssuerStore;
  readonly keys: KeyRing;
  readonly clock: TestClock;
  readonly events: readonly IssuerEvent[];
  readonly logger: CollectingLogger;
  /** Creates another issuer on the same store and keys, as on another replica. */
  readonly replica: (options?: Partial<TokenIssuerOptions>) => TokenIssuer;
}

/** Creates an issuer with a secret and a store in memory, all on one clock. */
export function issuing({ keys, ...options }: Partial<TokenIssuerOptions> = {}): Issuing {
  const clock = testClock();
  const ring = keys ?? createKeyRing({ secret: SECRET, env: "local", now: clock });
  const store = options.store ?? createMemoryTokenStore({ now: clock });
  const events: IssuerEvent[] = [];
  const logger = collectingLogger();
  const replica = (more: Partial<TokenIssuerOptions> = {}): TokenIssuer =>
    createTokenIssuer({
      keys: ring,
      env: "local",
      now: clock,
      logger,
      onEvent: (event) => events.push(event),
      ...options,
      ...more,
      store,
    });
  return { issuer: replica(), store, keys: ring, clock, events, logger, replica };
}

export const ada = {
  subject: "ada",
  scopes: ["orders:read", "orders:write"],
  roles: ["clerk"],
  tenant: "acme",
} as const;

export type Claims = Readonly<Record<string, unknown>>;

export function claimsOf(token: string): Claims {
  return part(token, 1);
}

export function headerOf(token: string): Claims {
  return part(token, 0);
}

function part(token: string, index: number): Claims {
  return JSON.parse(Buffer.from(token.split(".")[index] ?? "", "base64url").toString()) as Claims;
}

/** Returns the problem that a call rejects with. */
export async function problemOf(run: Promise<unknown>): Promise<ProblemError> {
  try {
    await run;
  } catch (error) {
    if (isProblemError(error)) return error;
    throw error;
  }
  throw new Error("it did not end in a problem");
}

/** Returns status and text of the problem that a refresh rejects with. */
export async function refusalOf(run: Promise<TokenPair>): Promise<string> {
  const { status, detail } = await problemOf(run);
  return `${status} ${detail}`;
}

/** Returns a refresh token of this issuer with changed claims; omits claims that are undefined. */
export async function altered(keys: KeyRing, token: string, claims: Claims): Promise<string> {
  return keys.signer().sign({ ...claimsOf(token), ...claims });
}

export function expectPair(pair: TokenPair): void {
  expect(pair).to.have.all.keys("access_token", "refresh_token", "token_type", "expires_in");
}

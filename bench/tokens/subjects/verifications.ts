import { createPemSource, createSecretSource, createVerifier } from "@svc/jwt-auth";
import { createVerifier as createFastVerifier } from "fast-jwt";
import { expectEqual } from "../../harness/expect-equal.ts";
import type { Subject } from "../../harness/subject.ts";
import {
  audience,
  claimsFor,
  createIssuer,
  type Issuer,
  issuerUrl,
  type TokenAlgorithm,
} from "../../http/tokens.ts";
import { tampered } from "../issuing.ts";

/** The verifier and the tokens of a case. The setting of the case contains them as JSON. */
export interface Verifying {
  readonly by: "svc" | "fast-jwt";
  readonly algorithm: TokenAlgorithm;
  /** Whether the verifier remembers verified tokens. */
  readonly isCached: boolean;
}

/** Returns an object for the caller of a token; returns undefined or throws if the token is refused. */
export type Verify = (token: string) => object | undefined;

// Use fewer callers than the caches hold, so that the caches remember all of them.
const CALLERS = 64;
const LEEWAY_SECONDS = 30;

/** Verifies the tokens of 64 callers in turn. */
export async function start(setting: string): Promise<Subject> {
  const verifying = JSON.parse(setting) as Verifying;
  const issuer = createIssuer(verifying.algorithm);
  const verify = verifierOf(verifying, issuer);
  const tokens = Array.from({ length: CALLERS }, () => Buffer.from(issuer.mint(claimsFor("tenant-00"))));
  return {
    prove: async () => proveVerifications(verify, issuer, verifying),
    async run(count) {
      for (let at = 0; at < count; at++) {
        // Create a new string each time, as a header parser does, because V8 remembers the hash of a string.
        if (verify(tokens[at % CALLERS]?.toString("latin1") ?? "") === undefined)
          throw new Error("a good token was refused");
      }
    },
  };
}

/** Makes the verifier of a case. */
export function verifierOf({ by, isCached, algorithm }: Verifying, issuer: Issuer): Verify {
  return by === "svc" ? ours(issuer, isCached) : fastJwt(issuer, algorithm, isCached);
}

function ours({ secret, publicKey }: Issuer, isCached: boolean): Verify {
  const verifier = createVerifier({
    keys: publicKey === undefined ? createSecretSource({ secret }) : createPemSource({ publicKey }),
    issuer: issuerUrl,
    audience,
    leewaySeconds: LEEWAY_SECONDS,
    ...(isCached ? {} : { cacheTokens: 0 }),
  });
  return (token) => {
    const verification = verifier.verify(token);
    if (verification instanceof Promise)
      throw new Error("the verifier must verify RSA and HMAC synchronously");
    return verification.principal;
  };
}

/** Returns the verifier of fast-jwt. It gets the key as a string, from which fast-jwt creates a key object once. */
function fastJwt({ secret, publicKey }: Issuer, algorithm: TokenAlgorithm, isCached: boolean): Verify {
  const verify = createFastVerifier({
    key: publicKey ?? secret,
    algorithms: [algorithm],
    allowedIss: issuerUrl,
    allowedAud: audience,
    // Without this option, fast-jwt accepts a token that lacks one of these claims.
    requiredClaims: ["iss", "aud", "exp"],
    clockTolerance: LEEWAY_SECONDS * 1000,
    cache: isCached,
  });
  return (token) => verify(token) as object;
}

/**
 * Checks that a verifier refuses bad tokens, and that it caches a valid token if `isCached` is true, but not otherwise.
 *
 * @throws Error if it does not
 */
export function proveVerifications(verify: Verify, issuer: Issuer, { algorithm, isCached }: Verifying): void {
  const claims = claimsFor("tenant-00");
  const good = issuer.mint(claims);
  const first = acceptedBy(verify, good);
  expectEqual("a good token accepted", first !== undefined, true);
  expectEqual("the same object for a token seen before", acceptedBy(verify, good) === first, isCached);
  const { exp: _exp, ...unending } = claims;
  const { iss: _iss, ...unsigned } = claims;
  const { aud: _aud, ...unaddressed } = claims;
  const past = Math.floor(Date.now() / 1000) - LEEWAY_SECONDS - 10;
  const bad = {
    "another signature": tampered(good),
    "a foreign key": createIssuer(algorithm).mint(claims),
    "an expired token": issuer.mint({ ...claims, exp: past }),
    "another issuer": issuer.mint({ ...claims, iss: "https://other.example/" }),
    "another audience": issuer.mint({ ...claims, aud: "https://other.example" }),
    "no expiry": issuer.mint(unending),
    "no issuer": issuer.mint(unsigned),
    "no audience": issuer.mint(unaddressed),
  };
  for (const [what, token] of Object.entries(bad)) {
    expectEqual(`${what} accepted`, acceptedBy(verify, token) !== undefined, false);
  }
}

function acceptedBy(verify: Verify, token: string): object | undefined {
  try {
    return verify(token);
  } catch {
    return undefined;
  }
}

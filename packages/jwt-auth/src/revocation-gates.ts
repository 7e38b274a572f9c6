import { shownIssuer } from "./issuer-verifier.ts";
import {
  createRevocationGate,
  type RevocationCheck,
  type RevocationGate,
  type RevocationGateOptions,
} from "./revocation.ts";
import type { Verified } from "./verification.ts";

/** The guarded revocation stores of `jwtAuth()`: one for all tokens, or one for each of several issuers. */
export interface RevocationGates {
  /** Returns the gate for a verified token; undefined if its revocation is not checked. */
  gateFor(this: void, verified: Verified): RevocationGate | undefined;
  /** The stores that did not respond to their last query, as the start of a sentence; undefined if all responded. */
  readonly silent: string | undefined;
}

/**
 * Creates the gates. The store of one issuer is never queried for a token of another, because two issuers may use the same
 * subjects, sessions and token ids.
 *
 * @param forAll the check for all tokens, without `byIssuer`
 * @param byIssuer the checks by the value of `iss`
 */
export function createRevocationGates(
  forAll: RevocationCheck | undefined,
  byIssuer: ReadonlyMap<string, RevocationCheck>,
  options: Omit<RevocationGateOptions, "check" | "issuer">,
): RevocationGates {
  const only = forAll && createRevocationGate({ ...options, check: forAll });
  const gates = new Map<string, RevocationGate>();
  for (const [issuer, check] of byIssuer)
    gates.set(issuer, createRevocationGate({ ...options, check, issuer: shownIssuer(issuer) }));
  return {
    gateFor: ({ principal }) => only ?? gates.get(principal.issuer ?? ""),
    get silent() {
      if (only !== undefined) return only.answering ? undefined : "the revocation store";
      const issuers = [...gates].flatMap(([issuer, gate]) => (gate.answering ? [] : [shownIssuer(issuer)]));
      return issuers.length === 0 ? undefined : `the revocation store of ${issuers.join(", ")}`;
    },
  };
}

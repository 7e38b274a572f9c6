import {
  createRevocationGate,
  type RevocationCheck,
  type RevocationGate,
  type RevocationGateOptions,
} from "./revocation.ts";
import type { Verified } from "./verification.ts";

/** The gates of `jwtAuth()`: one for all tokens, or one for each of several issuers. */
export interface RevocationGates {
  /** Returns the gate for a verified token; undefined if its revocation is not checked. */
  gateFor(this: void, verified: Verified): RevocationGate | undefined;
  /** Whether every store responded to its last query. */
  readonly answering: boolean;
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
  options: Omit<RevocationGateOptions, "check">,
): RevocationGates {
  const gateOf = (check: RevocationCheck): RevocationGate => createRevocationGate({ ...options, check });
  const only = forAll && gateOf(forAll);
  const gates = new Map([...byIssuer].map(([issuer, check]) => [issuer, gateOf(check)]));
  const all = only === undefined ? [...gates.values()] : [only];
  return {
    gateFor: ({ principal }) => only ?? gates.get(principal.issuer ?? ""),
    get answering() {
      return all.every((gate) => gate.answering);
    },
  };
}

import type { KeyObject } from "node:crypto";
import { type Algorithm, algorithms, createVerifier, type Refused, type Verification } from "@svc/jwt-auth";
import { type CompactJWSHeaderParameters, type JWTPayload, jwtVerify } from "jose";
import { asymmetric, symmetric } from "../hostile/hostile-token.ts";
import { everyKey, fixedKeys } from "../support/fixed-keys.ts";
import { now } from "../support/forge.ts";
import { keyFor } from "../support/key-fixtures.ts";
import { createRandom, type Random } from "../support/random.ts";
import { audience, type Draft, finish, goodDraft, issuer, knownKid, leewaySeconds } from "./draft.ts";
import { combinable, kinds, mutations } from "./mutations.ts";
import { classOf, isOfAClass, isSubSecond } from "./stricter.ts";

/** The function under test, which verifies a token. */
export type Subject = (token: string) => Verification | Promise<Verification>;

export interface Comparison {
  readonly cases: number;
  /** Number of tokens that both libraries accept. */
  readonly valid: number;
  readonly refusedByBoth: number;
  /** Number of tokens that jose accepts and this package refuses, by class. */
  readonly stricter: ReadonlyMap<string, number>;
  /** Number of tokens that only jose refuses, because `nbf` is a fraction of a second beyond the leeway. */
  readonly subSecond: number;
  readonly perAlgorithm: ReadonlyMap<string, number>;
  readonly perKind: ReadonlyMap<string, number>;
  readonly perReason: ReadonlyMap<string, number>;
  /** Unexpected differences between the libraries, and other wrong results. */
  readonly faults: readonly Fault[];
}

export interface Fault {
  readonly what: string;
  readonly index: number;
  readonly kind: string;
  readonly token: string;
  readonly detail: string;
}

export interface CompareOptions {
  readonly cases: number;
  readonly seed: number;
  /** Replaces the verifiers by broken ones, to show that the comparison detects them. Default: unchanged verifiers. */
  readonly wrap?: ((subject: Subject) => Subject) | undefined;
}

/**
 * Generates tokens and verifies each with this package and with jose, with the same keys, algorithms, issuer, audience,
 * leeway and clock. Equal seeds yield equal headers, claims and mutations; keys and signatures are new in every run.
 */
export async function compare({
  cases,
  seed,
  wrap = (subject) => subject,
}: CompareOptions): Promise<Comparison> {
  const random = createRandom(seed);
  const sides = createSides(wrap);
  const tally = createTally(cases);
  for (let index = 0; index < cases; index++) {
    const algorithm = pickAlgorithm(index, random);
    const side = random.pick(sides.filter((each) => each.algorithms.includes(algorithm)));
    const { token, kind, mustRefuse, original } = makeToken(algorithm, index, random);
    // Verify the unchanged token first, so that the cache holds it when the changed token is verified.
    if (original !== undefined) await side.ours(original);
    const ours = await side.ours(token);
    const again = await side.ours(token);
    const theirs = await side.theirs(token);
    tally.count(algorithm, kind, ours);
    const fault = faultOf({ token, ours, again, theirs, mustRefuse }, tally);
    if (fault !== undefined) tally.faults.push({ ...fault, index, kind, token });
  }
  return tally;
}

interface Judged {
  readonly token: string;
  readonly ours: Verification;
  readonly again: Verification;
  readonly theirs: JWTPayload | undefined;
  readonly mustRefuse: boolean;
}

function faultOf(
  { token, ours, again, theirs, mustRefuse }: Judged,
  tally: Tally,
): { what: string; detail: string } | undefined {
  const isAccepted = ours.reason === undefined;
  if (!isSame(ours, again))
    return { what: "another answer the second time", detail: `${ours.reason} ${again.reason}` };
  if (isAccepted && mustRefuse)
    return { what: "accepted what has to be refused", detail: "because of its mutation" };
  if (isAccepted && isOfAClass(token))
    return { what: "accepted what has to be refused", detail: "because of its class" };
  if (isAccepted && theirs !== undefined) {
    tally.valid++;
    return isSameClaims(ours, theirs)
      ? undefined
      : { what: "other claims than jose's", detail: JSON.stringify(theirs) };
  }
  if (isAccepted) {
    if (!isSubSecond(token)) return { what: "accepted, and refused by jose", detail: "" };
    tally.subSecond++;
    return undefined;
  }
  if (theirs === undefined) {
    tally.refusedByBoth++;
    return undefined;
  }
  return stricterFault(token, ours, tally);
}

function stricterFault(
  token: string,
  ours: Refused,
  tally: Tally,
): { what: string; detail: string } | undefined {
  const name = classOf(token, ours);
  if (name === undefined)
    return { what: "stricter in no listed class", detail: `${ours.reason} ${ours.at ?? ""}` };
  tally.stricter.set(name, (tally.stricter.get(name) ?? 0) + 1);
  return undefined;
}

/** Compares JSON strings: both values come from the same string, so their members have the same order. */
function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Compares claims without `__proto__`, which this package drops to protect copies of the claims. */
function isSameClaims({ principal }: Verification, theirs: JWTPayload): boolean {
  const { ["__proto__"]: _, ...expected } = { ...theirs };
  return isSame({ ...principal?.claims }, expected) && principal?.subject === theirs.sub;
}

interface Side {
  readonly algorithms: readonly Algorithm[];
  readonly ours: Subject;
  /** Returns the claims that jose verified, or undefined if it refuses the token. */
  theirs(token: string): Promise<JWTPayload | undefined>;
}

/** Creates two pairs of verifiers per family of algorithms: one with issuer, audience and cache, one without. */
function createSides(wrap: (subject: Subject) => Subject): readonly Side[] {
  return [asymmetric, symmetric].flatMap((family) =>
    [true, false].map((isChecked): Side => {
      const expected = isChecked ? { issuer, audience } : {};
      // One source returns its key for every kid, as for a secret or a pinned key; the other has fixed kids, as a key
      // set does.
      const keys = isChecked
        ? everyKey()
        : fixedKeys(family.map((each) => ({ kid: knownKid, algorithm: each, key: keyFor(each).publicKey })));
      const cacheTokens = isChecked ? 5000 : 0;
      const verifier = createVerifier({
        keys,
        algorithms: family,
        leewaySeconds,
        now,
        cacheTokens,
        ...expected,
      });
      const settings = {
        algorithms: [...family],
        clockTolerance: leewaySeconds,
        currentDate: new Date(now()),
        requiredClaims: ["exp", "iat", "sub"],
        ...expected,
      };
      const keyOf = (header: CompactJWSHeaderParameters): KeyObject =>
        joseKey(header.alg, isChecked ? undefined : header.kid);
      return {
        algorithms: family,
        ours: wrap((token) => verifier.verify(token)),
        async theirs(token) {
          try {
            const { payload } = await jwtVerify(token, keyOf, settings);
            return payload;
          } catch {
            return undefined;
          }
        },
      };
    }),
  );
}

function joseKey(alg: string, kid: unknown): KeyObject {
  const algorithm = algorithms.find((each) => each === alg);
  if (algorithm === undefined || (kid !== undefined && kid !== knownKid)) throw new Error("no such key");
  return keyFor(algorithm).publicKey;
}

interface Made {
  readonly token: string;
  readonly kind: string;
  readonly mustRefuse: boolean;
  readonly original: string | undefined;
}

function makeToken(algorithm: Algorithm, index: number, random: Random): Made {
  const draft = goodDraft(algorithm, random);
  // Three in ten tokens are unchanged; the other tokens are spread evenly over all kinds of mutations.
  const kind = random.chance(0.3) ? "none" : (kinds[index % kinds.length] ?? "none");
  if (combinable.includes(kind) && random.chance(0.2)) apply(random.pick(combinable), draft, random);
  const original =
    random.chance(0.2) && kind !== "none" ? finish({ ...draft, forgery: { ...draft.forgery } }) : undefined;
  const mustRefuse = apply(kind, draft, random);
  return { token: finish(draft), kind, mustRefuse, original };
}

function apply(kind: string, draft: Draft, random: Random): boolean {
  return mutations[kind]?.(draft, random) ?? false;
}

// Signing with RSA and the large curves is slow, so the other algorithms are more frequent.
const often: readonly Algorithm[] = ["HS256", "HS384", "HS512", "EdDSA", "ES256", "RS256"];

function pickAlgorithm(index: number, random: Random): Algorithm {
  return random.pick(index % 3 === 0 ? algorithms : often);
}

interface Tally extends Comparison {
  valid: number;
  refusedByBoth: number;
  subSecond: number;
  readonly stricter: Map<string, number>;
  readonly faults: Fault[];
  count(algorithm: string, kind: string, ours: Verification): void;
}

function createTally(cases: number): Tally {
  const [perAlgorithm, perKind, perReason] = [0, 1, 2].map(() => new Map<string, number>());
  const add = (map: Map<string, number> | undefined, name: string): void =>
    void map?.set(name, (map.get(name) ?? 0) + 1);
  return {
    cases,
    valid: 0,
    refusedByBoth: 0,
    subSecond: 0,
    stricter: new Map(),
    perAlgorithm: perAlgorithm ?? new Map(),
    perKind: perKind ?? new Map(),
    perReason: perReason ?? new Map(),
    faults: [],
    count(algorithm, kind, ours) {
      add(perAlgorithm, algorithm);
      add(perKind, kind);
      add(perReason, ours.reason ?? "accepted");
    },
  };
}

import { createSecretKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import {
  type Algorithm,
  createVerifier,
  type IssuerOptions,
  jwtAuth,
  type Verification,
  type VerificationKey,
} from "@svc/jwt-auth";
import { listen } from "@svc/test-support";
import { forge, now } from "../packages/jwt-auth/test/support/forge.ts";
import { createRandom, type Random } from "../packages/jwt-auth/test/support/random.ts";
import type { Experiment } from "./harness/experiment.ts";
import type { Report } from "./harness/report.ts";

const fullSize = 50_000;

/** Makes many tokens of three issuers that use the same key ids, and verifies them with `jwtAuth({ issuers })`. */
export const issuerConfusion: Experiment = {
  name: "issuer-confusion",
  description:
    "50,000 tokens of three issuers with shared key ids and swapped keys: none passes for another issuer",
  brokenVariants: ["broken-shared-keys", "broken-prefix", "broken-any-issuer"],
  async run(run, report) {
    const seed = run.seed ?? Math.floor(Math.random() * 1e9);
    const cases = run.cases ?? (run.quick ? 2000 : fullSize);
    report.note(`repeat with: --seed ${seed} --cases ${cases}`);
    const random = createRandom(seed);
    const trusted = ["a", "b", "c"].map((name) => issuerOf(name));
    const world: World = { trusted, stranger: issuerOf("stranger") };
    await using server = await listen((_req, res) => res.end(JSON.stringify(keySetOf(trusted.slice(0, 1)))));
    await using verifying = verifierOf(run.variant, trusted, server.url);
    const counts = new Map<string, number>();
    const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1);
    for (let index = 0; index < cases; index += 1) {
      const made = caseOf(random, world);
      const found = await verifying.verify(made.token);
      const again = await verifying.verify(made.token);
      if (found.reason !== again.reason) count("another verdict the second time");
      count(made.signer);
      count(verdictOf(made, found));
    }
    reportCounts(counts, { cases, seed }, report);
  },
};

interface SigningKey {
  readonly kid: string;
  readonly algorithm: Algorithm;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

interface Issuer {
  readonly issuer: string;
  readonly audience: string;
  readonly keys: readonly [SigningKey, SigningKey];
}

interface World {
  readonly trusted: readonly Issuer[];
  /** Not one of the configured issuers. */
  readonly stranger: Issuer;
}

/** Creates an issuer with the key ids `1` and `2`, which all issuers use, but not for the same types of keys. */
function issuerOf(name: string): Issuer {
  const ec = (kid: string): SigningKey => ({
    kid,
    algorithm: "ES256",
    ...generateKeyPairSync("ec", { namedCurve: "P-256" }),
  });
  const ed = (kid: string): SigningKey => ({ kid, algorithm: "EdDSA", ...generateKeyPairSync("ed25519") });
  return {
    issuer: `https://${name}.example`,
    audience: name === "c" ? "payments" : "orders",
    keys: name === "b" ? [ed("1"), ec("2")] : [ec("1"), ed("2")],
  };
}

function keySetOf(issuers: readonly Issuer[]) {
  const keys = issuers.flatMap((each) => each.keys);
  return { keys: keys.map(jwkOf) };
}

function jwkOf({ kid, publicKey }: SigningKey) {
  return { ...publicKey.export({ format: "jwk" }), kid };
}

type Verify = (token: string) => Verification | Promise<Verification>;

/** Returns the verifier of a variant. Each issuer has another form of keys. */
function verifierOf(
  variant: string,
  trusted: readonly Issuer[],
  url: string,
): { verify: Verify } & AsyncDisposable {
  const algorithms = ["ES256", "EdDSA"] as const;
  if (variant === "broken-prefix" || variant === "broken-any-issuer") {
    const verifiers = trusted.map((each) => ({
      issuer: each.issuer,
      verifier: createVerifier({ keys: keySetOf([each]), audience: each.audience, algorithms, now }),
    }));
    const isFor = (token: string, issuer: string): boolean =>
      variant === "broken-any-issuer" || issuerIn(token).startsWith(issuer);
    return {
      async verify(token) {
        let last: Verification = { reason: "issuer" };
        for (const { issuer, verifier } of verifiers) {
          if (isFor(token, issuer)) last = await verifier.verify(token);
          if (last.reason === undefined) break;
        }
        return last;
      },
      async [Symbol.asyncDispose]() {},
    };
  }
  const forms: readonly ((issuer: Issuer) => Pick<IssuerOptions, "jwksUrl" | "keys">)[] = [
    () => ({ jwksUrl: url }),
    (issuer) => ({ keys: keySetOf([issuer]) }),
    ({ keys }) => ({ keys: ({ kid }) => keyIn(keys, kid) }),
  ];
  const shared = variant === "broken-shared-keys" ? { keys: keySetOf(trusted) } : undefined;
  const auth = jwtAuth({
    issuers: trusted.map((each, index) => {
      const { issuer, audience } = each;
      return { issuer, audience, algorithms, ...(shared ?? forms[index]?.(each)) };
    }),
    env: "local",
    now,
  });
  return { verify: (token) => auth.verifier.verify(token), [Symbol.asyncDispose]: async () => auth.stop() };
}

function keyIn(keys: readonly SigningKey[], kid: string | undefined): VerificationKey | undefined {
  return keys.find((each) => each.kid === kid)?.publicKey;
}

function issuerIn(token: string): string {
  const { iss } = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as {
    iss?: unknown;
  };
  return String(iss);
}

interface Case {
  readonly token: string;
  /** The owner of the key that signed it, in words. */
  readonly signer: string;
  /** The issuer for which the token is valid; undefined if it is valid for none. */
  readonly validFor: string | undefined;
}

/** Makes a token: signer, `iss`, `kid` and audience are each mostly right, so that many tokens have one defect. */
function caseOf(random: Random, { trusted, stranger }: World): Case {
  const named = random.pick(trusted);
  const others = [...trusted.filter((each) => each !== named), stranger];
  const signer = random.chance(0.6) ? named : random.pick(others);
  const key = random.pick(signer.keys);
  const iss = random.chance(0.85) ? named.issuer : random.pick(almost(named.issuer, others));
  const kid = random.chance(0.85) ? key.kid : random.pick([undefined, "1", "2", "3"]);
  const audience = random.chance(0.85) ? named.audience : random.pick(["orders", "payments"]);
  const claims = { iss, aud: audience };
  // The changed iss may be that of the signer.
  const owner = trusted.find((each) => each.issuer === iss);
  const isValid = signer === owner && kid === key.kid && audience === owner.audience;
  if (random.chance(0.05)) {
    // The public key of the named issuer as an HMAC secret.
    const pem = random.pick(named.keys).publicKey.export({ type: "spki", format: "pem" });
    const secret = createSecretKey(Buffer.from(pem));
    const token = forge({ algorithm: "HS256", key: secret, header: { kid }, claims });
    return { token, signer: "signed with a public key as secret", validFor: undefined };
  }
  const { algorithm, privateKey } = key;
  const whose = signer === named ? "its issuer" : signer === stranger ? "a stranger" : "another issuer";
  return {
    token: forge({ algorithm, key: privateKey, header: { kid }, claims }),
    signer: `signed by ${whose}`,
    validFor: isValid ? owner.issuer : undefined,
  };
}

function almost(issuer: string, others: readonly Issuer[]): readonly unknown[] {
  const names = others.map((each) => each.issuer);
  return [
    ...names,
    `${issuer}/`,
    `${issuer}.evil.example`,
    issuer.toUpperCase(),
    ` ${issuer}`,
    issuer.slice(0, -1),
    "",
    "__proto__",
    undefined,
    [issuer],
    [issuer, ...names],
  ];
}

function verdictOf({ validFor }: Case, found: Verification): string {
  if (found.reason !== undefined) return validFor === undefined ? "refused" : "valid, and refused";
  if (validFor === undefined) return "not valid, and accepted";
  return found.principal.issuer === validFor ? "accepted" : "accepted for another issuer";
}

function reportCounts(
  counts: ReadonlyMap<string, number>,
  { cases, seed }: { readonly cases: number; readonly seed: number },
  report: Report,
): void {
  const of = (what: string): number => counts.get(what) ?? 0;
  report.figure("all", "tokens", cases, "count");
  report.figure("all", "seed", seed, "seed");
  for (const [what, value] of [...counts].toSorted(([a], [b]) => a.localeCompare(b)))
    report.figure("all", what, value, "count");
  const wrong = of("not valid, and accepted") + of("accepted for another issuer");
  report.figure("all", "accepted for the wrong issuer", wrong, "count");
  report.rule(wrong === 0, "no token is accepted that the issuer in its iss did not sign for this audience");
  report.rule(of("valid, and refused") === 0, "every valid token is accepted for its issuer");
  report.rule(of("another verdict the second time") === 0, "a second verification gives the same verdict");
  report.rule(of("accepted") >= cases / 5, "at least 20 % of the tokens are valid");
  report.rule(
    of("signed by another issuer") >= cases / 10,
    "another issuer signed at least 10 % of the tokens",
  );
}

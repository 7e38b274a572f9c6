import { verify } from "node:crypto";
import { algorithms, type Verification } from "@svc/jwt-auth";
import { partsOf, signatureOf } from "../support/forge.ts";
import { keyFor } from "../support/key-fixtures.ts";
import type { Subject } from "./compare.ts";

/** Verifiers with one bug each; the comparison must detect every one of them. */
export const brokenVerifiers: Readonly<Record<string, (subject: Subject) => Subject>> = {
  "broken-crit": (subject) => forgiving(subject, "critical_header"),
  "broken-base64": (subject) => forgiving(subject, "encoding"),
  "broken-cache": cachedByPayload,
  "broken-strict": refusingExtraMembers,
};

/** Accepts tokens that should be refused for this reason, if their signature is valid. */
function forgiving(subject: Subject, reason: Verification["reason"]): Subject {
  return async (token) => {
    const found = await subject(token);
    return found.reason === reason && isSigned(token) ? accepted(token) : found;
  };
}

function isSigned(token: string): boolean {
  const [header, payload, signature] = partsOf(token);
  const { alg } = objectIn(header);
  const algorithm = algorithms.find((each) => each === alg);
  if (algorithm === undefined) return false;
  const text = `${header}.${payload}`;
  const bytes = Buffer.from(signature, "base64url");
  const key = keyFor(algorithm).publicKey;
  if (algorithm.startsWith("HS")) return signatureOf(algorithm, key, text).equals(bytes);
  const hash = algorithm === "EdDSA" ? null : `sha${algorithm.slice(2)}`;
  return verify(hash, Buffer.from(text), { key, dsaEncoding: "ieee-p1363" }, bytes);
}

/** Caches results by the signed text instead of the whole token. */
function cachedByPayload(subject: Subject): Subject {
  const known = new Map<string, Verification>();
  return async (token) => {
    const [header, payload] = partsOf(token);
    const id = `${header}.${payload}`;
    const found = known.get(id) ?? (await subject(token));
    if (found.reason === undefined) known.set(id, found);
    return found;
  };
}

/** Refuses tokens with an unknown header member, which issuers may set. */
function refusingExtraMembers(subject: Subject): Subject {
  return (token) => ("x" in objectIn(partsOf(token)[0]) ? { reason: "header" } : subject(token));
}

function accepted(token: string): Verification {
  const claims = objectIn(partsOf(token)[1]);
  const principal = {
    subject: String(claims["sub"]),
    scopes: [],
    roles: [],
    tenant: undefined,
    tokenId: undefined,
    family: undefined,
    issuer: undefined,
    expiresAt: undefined,
    claims,
  };
  return { principal, signedInAt: 0 };
}

function objectIn(part: string): Readonly<Record<string, unknown>> {
  try {
    return { ...(JSON.parse(Buffer.from(part, "base64url").toString()) as object) };
  } catch {
    return {};
  }
}

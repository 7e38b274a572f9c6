import { randomBytes } from "node:crypto";
import { type Answer, isObject, NoAnswer, parseObject } from "../answer.ts";
import type { HttpClient } from "../http-client.ts";
import type { Kit } from "../kit.ts";
import { requestOf, withExtra } from "../requests.ts";
import type { Probe } from "../option-values.ts";
import type { ResolvedSession } from "../settings.ts";
import type { Claims } from "../tokens.ts";

/** The tokens that a sign-in or refresh returns. */
export interface Pair {
  readonly access: string;
  readonly refresh: string;
  readonly answer: Answer;
}

/** A decoded token. */
export interface OpenToken {
  readonly header: Claims;
  readonly claims: Claims;
}

export function sessionOf(kit: Kit): ResolvedSession {
  const { session } = kit.settings.probes;
  if (session === undefined) throw new Error("the probe `session` is not set");
  return session;
}

/**
 * Sends the sign-in request of the session probe and returns the token pair.
 * @throws NoAnswer if the response contains no token pair
 */
export async function signIn(kit: Kit): Promise<Pair> {
  const { request, accessToken, refreshToken } = sessionOf(kit);
  const answer = await kit.ask(request);
  const pair = answer.ok ? pairIn(answer, accessToken, refreshToken) : undefined;
  if (pair !== undefined) return pair;
  const hint = answer.status === 429 ? "; raise the limit on sign-ins for the test" : "";
  throw new NoAnswer(`the sign-in returned ${answer.status} without a token pair${hint}`);
}

export function refresh(kit: Kit, token: string, at: HttpClient = kit.http): Promise<Answer> {
  const probe = { method: "POST", path: "/auth/refresh", body: { refresh_token: token } };
  return at.send(withExtra(requestOf(probe)));
}

/**
 * Returns the token pair from the response to a refresh; undefined if it contains none. The contract does not require these
 * member names, so the names in the sign-in response are also accepted, with or without their enclosing objects.
 */
export function pairOf(kit: Kit, answer: Answer): Pair | undefined {
  const { accessToken, refreshToken } = sessionOf(kit);
  if (!answer.ok) return undefined;
  const bare = (path: string): string => path.slice(path.lastIndexOf(".") + 1);
  return (
    pairIn(answer, "access_token", "refresh_token") ??
    pairIn(answer, accessToken, refreshToken) ??
    pairIn(answer, bare(accessToken), bare(refreshToken))
  );
}

export function logout(kit: Kit, token: string | undefined): Promise<Answer> {
  return kit.ask("POST /auth/logout", { token });
}

/** Requests the session probe's route for signed-in users, with a token. */
export function visit(kit: Kit, token: string, at: HttpClient = kit.http): Promise<Answer> {
  return at.send(withExtra(requestOf(sessionOf(kit).route), { token }));
}

/**
 * Sends a control request, which changes how the service under test behaves.
 * @throws NoAnswer if the service refuses the request
 */
export async function sendControl(kit: Kit, probe: Probe): Promise<void> {
  const { ok, status } = await kit.ask(probe);
  if (ok) return;
  const { method, path } = requestOf(probe);
  throw new NoAnswer(`the control request ${method} ${path} returned ${status}; expected 2xx`);
}

export function open(token: string): OpenToken | undefined {
  const [header, claims] = token
    .split(".")
    .map((part) => parseObject(Buffer.from(part, "base64url").toString("utf8")));
  return header === undefined || claims === undefined ? undefined : { header, claims };
}

/** Returns the claims of a token; an empty object if it cannot be decoded. */
export function claimsOf(token: string): Claims {
  return open(token)?.claims ?? {};
}

/** Whether a refresh token can be used twice in sequence. */
export function isReusable(kit: Kit): Promise<boolean> {
  return kit.once("reuse", async () => {
    const { refresh: token } = await signIn(kit);
    await refresh(kit, token);
    return (await refresh(kit, token)).ok;
  });
}

/** Returns a copy of the service's token with another id and family, signed by the kit. */
export function copyOf(kit: Kit, token: string, changes: Claims = {}): string {
  const { header = {}, claims = {} } = open(token) ?? {};
  const own = { jti: randomBytes(16).toString("hex"), fam: kit.unique(), ...changes };
  return kit.tokens.mint({
    header: { kid: kit.tokens.keys.kid ?? header["kid"] },
    claims: { ...claims, ...own },
  });
}

/**
 * Refreshes with a copy of one of the service's refresh tokens, signed by the kit. Returns undefined if the service
 * rejects such copies.
 */
export async function presentCopy(kit: Kit, changes: Claims): Promise<Answer | undefined> {
  if (kit.settings.keys === undefined) return undefined;
  const session = await signIn(kit);
  const isTaken = await kit.once("copies", async () => (await refresh(kit, copyOf(kit, session.refresh))).ok);
  return isTaken ? refresh(kit, copyOf(kit, session.refresh, changes)) : undefined;
}

/** Returns the names in a claim that is a string or a list. */
export function names(value: unknown): readonly string[] {
  if (typeof value === "string") return value.split(" ").filter((each) => each !== "");
  return Array.isArray(value) ? value.map(String) : [];
}

/** Whether two lists have the same members, in any order. */
export function sameMembers(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name) => b.includes(name));
}

function pairIn(answer: Answer, accessMember: string, refreshMember: string): Pair | undefined {
  const access = memberOf(answer.object, accessMember);
  const fresh = memberOf(answer.object, refreshMember);
  if (typeof access !== "string" || typeof fresh !== "string") return undefined;
  return { access, refresh: fresh, answer };
}

function memberOf(value: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>((inner, name) => (isObject(inner) ? inner[name] : undefined), value);
}

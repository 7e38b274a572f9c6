import { check, type Check } from "../check.ts";
import type { Kit } from "../kit.ts";
import { show } from "../show.ts";
import type { Claims } from "../tokens.ts";
import { must, notApplicable, statusIs, succeeds } from "../verdict.ts";
import { isRefusal, refusesCaller } from "./callers.ts";
import { needs } from "./pairs.ts";
import { anonymously } from "./tenants.ts";
import { claimsOf, copyOf, logout, names, pairOf, refresh, signIn, visit } from "./session-calls.ts";

/** Returns a token without a session, as other issuers create it; undefined if the service rejects the kit's tokens. */
async function tokenWithoutSession(kit: Kit, changes: Claims = {}): Promise<string | undefined> {
  const { access } = await signIn(kit);
  const token = copyOf(kit, access, { fam: undefined, ...changes });
  return (await visit(kit, token)).ok ? token : undefined;
}

const notTaken = notApplicable("the service does not accept tokens that the kit signed");

export const logoutChecks: readonly Check[] = [
  check("ISS-9", { needs }, async function* (kit) {
    const { keys } = kit.settings;
    const { scopeClaim, rolesClaim, tenantClaim } = kit.settings.claims;
    const { access } = await signIn(kit);
    // Names in descending order show whether the service sorts the lists.
    const unsorted = { [scopeClaim]: "svc:b svc:a", [rolesClaim]: ["svc-b", "svc-a"] };
    const made = keys === undefined ? undefined : copyOf(kit, access, unsorted);
    for (const token of made === undefined ? [access] : [access, made]) {
      const answer = await kit.get("/auth/me", { token });
      if (token === made && isRefusal(answer)) continue;
      const claims = claimsOf(token);
      const expected = {
        subject: claims["sub"],
        tenant_id: claims[tenantClaim] ?? null,
        scopes: names(claims[scopeClaim]).toSorted(),
        roles: names(claims[rolesClaim]).toSorted(),
        token_id: claims["jti"],
      };
      yield statusIs(answer, 200, "from /auth/me");
      for (const [name, value] of Object.entries(expected)) {
        const seen = answer.object?.[name];
        const isSame = JSON.stringify(seen) === JSON.stringify(value);
        yield must(isSame, `${name} ${show(seen)}`, show(value));
      }
      const more = Object.keys(answer.object ?? {}).filter((name) => !Object.hasOwn(expected, name));
      yield must(
        more.length === 0,
        `unexpected members: ${more.join(", ")}`,
        Object.keys(expected).join(", "),
      );
    }
    const anonymous = await anonymously(kit);
    if (anonymous === undefined) return;
    yield statusIs(await kit.get("/auth/me", anonymous), 401, "without a caller");
  }),
  // Runs alone: a faulty service may also end the sessions of other checks.
  check("ISS-5", { needs, alone: true }, async function* (kit) {
    const first = await signIn(kit);
    const last = pairOf(kit, await refresh(kit, first.refresh)) ?? first;
    // Send both tokens to the service first: it may cache that they are valid.
    for (const { access } of [first, last]) await visit(kit, access);
    yield succeeds(await logout(kit, last.access), "for a logout", "204");
    yield refusesCaller(await visit(kit, last.access), "for the access token that was used for the logout");
    yield refusesCaller(await visit(kit, first.access), "for an older access token of that session");
    yield refusesCaller(await refresh(kit, last.refresh), "for the refresh token of that session");
  }),
  check("ISS-7", { needs, alone: true }, async function* (kit) {
    const other = await signIn(kit);
    const session = await signIn(kit);
    await logout(kit, session.access);
    const [visited, renewed] = [await visit(kit, other.access), await refresh(kit, other.refresh)];
    yield succeeds(visited, "for another session of the same user");
    yield succeeds(renewed, "for a refresh of another session", "a new pair");
  }),
  check("ISS-8", { needs, alone: true }, async function* (kit) {
    const { access } = await signIn(kit);
    const bare =
      kit.settings.keys === undefined ? undefined : await tokenWithoutSession(kit, { jti: undefined });
    const answers = [await logout(kit, access), ...(bare === undefined ? [] : [await logout(kit, bare)])];
    yield* answers.map(({ status, body }, index) =>
      must(
        status === 204 && body.length === 0,
        `${status} with ${body.length} bytes for a logout with a token ${index === 0 ? "of a session" : "without jti and fam"}`,
        "204 with an empty body",
      ),
    );
  }),
  check("CLAIM-2", { needs: [...needs, "keys"], alone: true }, async function* (kit) {
    const token = await tokenWithoutSession(kit);
    if (token === undefined) return notTaken;
    yield succeeds(await logout(kit, token), "for a logout with a token without fam", "204");
    yield refusesCaller(await visit(kit, token), "for the same token after the logout");
  }),
  check("ISS-6", { needs: [...needs, "keys"], alone: true }, async (kit) => {
    const [token, other] = [await tokenWithoutSession(kit), await tokenWithoutSession(kit)];
    if (token === undefined || other === undefined) return notTaken;
    await logout(kit, token);
    return succeeds(await visit(kit, other), "for another token after a logout with a token without fam");
  }),
];

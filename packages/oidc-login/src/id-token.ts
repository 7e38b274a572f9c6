import type { CheckResult } from "@svc/context";
import { createKeySetSource, createVerifier } from "@svc/jwt-auth";
import { GUID, isIssuer, issuerOfDirectory } from "./built-in.ts";
import { identityOf, isSubject, type LoginIdentity } from "./identity.ts";
import type { ResolvedOidcLogin } from "./resolve-options.ts";
import type { Provider } from "./provider.ts";
import { LoginError } from "./refusals.ts";

/** The values of an attempt and its callback that an ID token must match, and the path to return to. */
export interface Expected {
  readonly nonce: string;
  /** `iss` of the callback (RFC 9207), if it has one. */
  readonly iss: string | undefined;
  readonly returnTo: string;
}

type Claims = Readonly<Record<string, unknown>>;

export type IdTokens = ReturnType<typeof idTokens>;

/** Checks the ID tokens of one provider. */
export function idTokens(provider: Provider, options: ResolvedOidcLogin) {
  let opened: ReturnType<typeof open> | undefined;

  function open() {
    const { algorithms } = provider;
    const keys = createKeySetSource({
      url: provider.jwksUri ?? "",
      algorithms,
      // Resolving the options has already rejected http where `env` forbids it.
      env: options.env,
      fetch: options.fetch,
      logger: options.logger,
    });
    const verifier = createVerifier({
      keys,
      algorithms,
      audience: provider.clientId,
      leewaySeconds: options.leewaySeconds,
      now: options.now,
      // An ID token is used once, so caching has no benefit.
      cacheTokens: 0,
      // Sign-in needs no tenant, so name a claim that providers do not use.
      tenantClaim: "urn:svc:oidc-login:none",
    });
    return { keys, verifier };
  }

  return {
    /** @throws LoginError */
    async check(idToken: string, expected: Expected): Promise<LoginIdentity> {
      opened ??= open();
      const found = await opened.verifier.verify(idToken);
      if (found.reason === undefined) return identityIn(provider, found.principal.claims, expected);
      const { reason, at } = found;
      if (reason === "keys_unavailable") throw new LoginError("keys_unavailable");
      throw new LoginError("id_token", at === undefined ? reason : `${reason}: ${at}`);
    },
    /** Starts fetching the keys on the first call, so that they are available when the person comes back. */
    prepare(): void {
      opened ??= open();
    },
    /** Reports the state of the keys. Never fetches. */
    state(signal: AbortSignal): CheckResult | Promise<CheckResult> {
      if (provider.kind === "oauth") return { healthy: true, detail: "needs no keys" };
      return opened?.keys.readiness().check(signal) ?? { healthy: true, detail: "no sign-in yet" };
    },
    stop(): void {
      opened?.keys.stop();
    },
  };
}

function identityIn(provider: Provider, claims: Claims, expected: Expected): LoginIdentity {
  checkClaims(provider, claims, expected);
  const parts = {
    provider: provider.name,
    email: own(claims, "email"),
    name: own(claims, "name"),
    picture: own(claims, "picture"),
    claims,
    returnTo: expected.returnTo,
  };
  if (provider.kind === "microsoft") {
    const subject = microsoftSubject(provider, claims);
    // Without this claim the address is unverified: an administrator of the directory may have typed it.
    const edov = own(claims, "xms_edov");
    const emailVerified = edov === true || edov === 1 || edov === "1" || edov === "true";
    return identityOf({ ...parts, subject, emailVerified });
  }
  const subject = own(claims, "sub");
  if (!isSubject(subject)) throw new LoginError("subject", "sub");
  return identityOf({ ...parts, subject, emailVerified: own(claims, "email_verified") });
}

/** Checks the claims of OIDC-9 (OpenID Connect Core 3.1.3.7). The verifier has checked signature, dates and `aud`. */
function checkClaims(provider: Provider, claims: Claims, expected: Expected): void {
  if (own(claims, "nonce") !== expected.nonce) throw new LoginError("nonce");
  const issuer = own(claims, "iss");
  if (typeof issuer !== "string" || !isIssuer(provider, issuer)) throw new LoginError("issuer");
  // Reject a token of one directory in the callback of another directory.
  if (provider.kind === "microsoft" && expected.iss !== undefined && expected.iss !== issuer)
    throw new LoginError("issuer", "another directory");
  const party = own(claims, "azp");
  const audience = own(claims, "aud");
  const several = Array.isArray(audience) && audience.length > 1;
  if (party === undefined ? several : party !== provider.clientId)
    throw new LoginError("authorized_party", "azp");
}

function microsoftSubject({ issuer, directories }: Provider, claims: Claims): string {
  const [tid, oid] = [own(claims, "tid"), own(claims, "oid")];
  if (typeof tid !== "string" || !GUID.test(tid)) throw new LoginError("directory", "tid");
  if (own(claims, "iss") !== issuerOfDirectory(issuer, tid)) throw new LoginError("issuer", "tid");
  if (directories.length > 0 && !directories.includes(tid)) throw new LoginError("directory", "not allowed");
  if (typeof oid !== "string" || !GUID.test(oid)) throw new LoginError("subject", "oid");
  return `${tid}:${oid}`;
}

function own(claims: Claims, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined;
}

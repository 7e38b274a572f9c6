import type { Mutants } from "./mutant.ts";

/** Mutants of the rules on issuing, revocation, refresh and federated sign-in. */
export const sessions: Mutants = {
  "ISS-1": {
    file: "packages/token-issuer/src/auth-routes.ts",
    find: "    [`${prefix}/me`, { methods: reads, answer: me }],",
    replace:
      '    [`${prefix}/me`, { methods: reads, answer: me }],\n    [`${prefix}/login`, { methods: ["POST"], answer: me }],',
  },
  "ISS-2": {
    file: "packages/token-issuer/src/written-claims.ts",
    find: "...(tenant === undefined ? {} : { [tenantClaim]: tenant }),",
    replace: "",
  },
  "ISS-3": {
    file: "packages/token-issuer/src/token-issuer.ts",
    find: "const session = { ...read, signedInAt, family: drawFamily() };",
    replace: "const session = { ...read, signedInAt, family: read.subject };",
  },
  "ISS-4": {
    file: "packages/token-issuer/src/options.ts",
    find: "kind: k.withDefault(k.number({ min: 1, max: 1440 }), 15),",
    replace: "kind: k.withDefault(k.number({ min: 1, max: 1440 }), 60),",
  },
  "ISS-5": {
    file: "packages/token-issuer/src/token-issuer.ts",
    find: "await store.change((each) => each.revoke(tokenId, ttlSeconds));",
    replace: "",
  },
  "ISS-6": {
    file: "packages/token-issuer/src/token-issuer.ts",
    find: 'if (family !== undefined && family !== "") {',
    replace:
      'if (family === undefined || family === "") return;\n    if (family !== undefined && family !== "") {',
  },
  "ISS-7": {
    file: "packages/token-issuer/src/token-issuer.ts",
    find: "await store.change((each) => each.revokeFamily(family, familyTtlSeconds));\n    }\n    if (tokenId",
    replace:
      "await store.change((each) => each.revokeSubject(subject, secondsNow() + 1, familyTtlSeconds));\n    }\n    if (tokenId",
  },
  "ISS-8": {
    file: "packages/token-issuer/src/auth-routes.ts",
    find: "res.writeHead(204, privately);",
    replace: "res.writeHead(200, privately);",
  },
  "ISS-9": {
    file: "packages/token-issuer/src/auth-routes.ts",
    find: "tenant_id: tenant ?? null,",
    replace: "tenant: tenant ?? null,",
  },
  "ISS-10": {
    file: "packages/token-issuer/src/written-claims.ts",
    find: "    nbf: nowSeconds,\n",
    replace: "",
  },
  "ISS-11": {
    file: "packages/token-issuer/src/written-claims.ts",
    find: "grt: { scopes, roles },",
    replace: 'grt: { scopes, roles },\n      [scopeClaim]: scopes.join(" "),',
  },
  "ISS-12": {
    file: "packages/token-issuer/src/signer.ts",
    find: 'JSON.stringify({ alg: algorithm, kid, typ: "JWT" })',
    replace: 'JSON.stringify({ alg: algorithm, typ: "JWT" })',
  },
  "ISS-13": {
    file: "packages/token-issuer/src/pair-request.ts",
    find: "if (reserved.has(name)) throw wrong(`extra.${name} must not be set: the issuer writes that claim itself`);",
    replace: "",
  },
  "ISS-14": {
    file: "packages/token-issuer/src/signer.ts",
    find: "size === undefined ? signature : fixedSignature(signature, size);",
    replace: "signature;",
  },
  "ISS-15": {
    file: "packages/token-issuer/src/live-ring.ts",
    find: 'Object.freeze({ ...members, use: "sig", alg: algorithm, kid })',
    replace: 'Object.freeze({ ...members, use: "enc", alg: algorithm, kid })',
  },
  "ISS-16": {
    file: "packages/token-issuer/src/options.ts",
    find: 'if (env === "prod" && store.shared !== true) yield',
    replace: 'if (env === "staging" && store.shared !== true) yield',
  },
  "ISS-17": {
    file: "packages/token-issuer/src/refusals.ts",
    find: 'return serviceUnavailable("the revocation store is not answering; retry shortly", {',
    replace: "return new ProblemError(500, undefined, {",
  },
  "ISS-18": {
    file: "packages/token-issuer/src/token-issuer.ts",
    find: '    emit(about("issued", session));\n',
    replace: '    emit(about("issued", session));\n    emit(about("issued", session));\n',
  },
  "ISS-19": {
    file: "packages/token-issuer/src/token-issuer.ts",
    find: "await store.change((each) => each.revoke(tokenId, familyTtlSeconds));",
    replace: "",
  },
  "REV-1": {
    file: "packages/jwt-auth/src/revocation.ts",
    find: "fam: principal.family, sub:",
    replace: "fam: undefined, sub:",
  },
  "REV-2": {
    file: "packages/token-issuer/src/token-issuer.ts",
    find: "each.revoke(tokenId, ttlSeconds)",
    replace: "each.revoke(tokenId, 1)",
  },
  "REV-3": {
    file: "packages/jwt-auth/src/plugin.ts",
    find: "options.revocation ?? signing?.store ?? (await shared?.())",
    replace: "options.revocation ?? signing?.store",
  },
  "REV-4": {
    file: "packages/jwt-auth/src/jwt-auth.ts",
    find: 'if (answer === "unknown" && !failOpen)',
    replace: 'if (answer === "unknown")',
  },
  "REV-5": {
    file: "packages/jwt-auth/src/jwt-auth.ts",
    find: 'if (answer === "unknown" && !failOpen) return storeIsOut(gate.retryAfterSeconds);',
    replace: "",
  },
  "REV-6": {
    file: "packages/jwt-auth/src/jwt-auth.ts",
    find: '"the revocation store is not answering; retry shortly"',
    replace: '"the revocation store is not answering"',
  },
  "REV-7": {
    file: "packages/redis/src/options.ts",
    find: "commandTimeoutMs: { kind: k.withDefault(k.milliseconds, 1000) },",
    replace: "commandTimeoutMs: { kind: k.withDefault(k.milliseconds, 5000) },",
  },
  "REV-8": {
    file: "packages/redis/src/guard.ts",
    find: "if (failures < breakerFailures) return;",
    replace: "if (failures < Infinity) return;",
  },
  "REV-9": {
    file: "packages/token-issuer/src/token-issuer.ts",
    find: "const familyTtlSeconds = refreshSeconds + leewaySeconds;",
    replace: "const familyTtlSeconds = refreshSeconds;",
  },
  "REV-10": {
    file: "packages/token-store/src/memory.ts",
    find: "!(signedInAt >= entry.notBefore)",
    replace: "!(signedInAt > entry.notBefore)",
  },
  "REV-11": {
    file: "packages/token-issuer/src/token-issuer.ts",
    find: "await store.change((each) => each.revokeFamily(family, familyTtlSeconds));\n    }\n    if (tokenId",
    replace: "}\n    if (tokenId",
  },
  "REF-1": {
    file: "packages/token-issuer/src/token-issuer.ts",
    find: "const result = await store.rotate(rotationOf(found));",
    replace: 'const result = "rotated" as "rotated" | "raced" | "replayed";',
  },
  "REF-2": {
    file: "packages/token-issuer/src/auth-routes.ts",
    find: "sendJson(req, res, 200, pair, privately);",
    replace: "sendJson(req, res, 200, pair);",
  },
  "REF-3": {
    file: "packages/token-issuer/src/presented-token.ts",
    find: "return isScopeList(scopes) && isTextList(roles) ? { scopes, roles } : undefined;",
    replace: "return isScopeList(scopes) && isTextList(roles) ? { scopes: [], roles } : undefined;",
  },
  "REF-4": {
    file: "packages/token-store/src/memory.ts",
    find: "uses.set(key, { nonce,",
    replace: 'uses.set(key, { nonce: "",',
    test: "packages/token-store/test/memory-suite.test.ts",
  },
  "REF-5": {
    file: "packages/token-issuer/src/token-issuer.ts",
    find: 'if (result === "raced") return turnDown("refused", session, "rotated");',
    replace:
      'if (result === "raced") {\n      await store.change((each) => each.revokeFamily(session.family, familyTtlSeconds));\n      return turnDown("refused", session, "rotated");\n    }',
  },
  "REF-6": {
    file: "packages/token-issuer/src/token-issuer.ts",
    find: 'if (result === "replayed") return turnDown("replayed", session, "revoked");',
    replace: 'if (result === "replayed") return turnDown("replayed", session, "rotated");',
  },
  "REF-7": {
    file: "packages/token-store/src/memory.ts",
    find: 'if (at < use.deadline) return "raced";',
    replace:
      'if (at < use.deadline) {\n          Object.assign(use, { deadline: at + graceMs });\n          return "raced";\n        }',
    test: "packages/token-store/test/memory-suite.test.ts",
  },
  "REF-8": {
    file: "packages/token-store/src/memory.ts",
    find: 'if (families.get(fam, at) !== undefined || signedOut({ sub, signedInAt }, at)) return "replayed";',
    replace: 'if (signedOut({ sub, signedInAt }, at)) return "replayed";',
    test: "packages/token-store/test/memory-suite.test.ts",
  },
  "REF-9": {
    file: "packages/token-issuer/src/refresh-hook.ts",
    find: "hook(principal, signal)",
    replace: "hook({ ...principal, claims: {} }, signal)",
  },
  "REF-10": {
    file: "packages/token-issuer/src/token-issuer.ts",
    find: 'await store.change((each) => each.revokeFamily(session.family, familyTtlSeconds));\n      return turnDown("declined", session, "ended");',
    replace: 'return turnDown("declined", session, "ended");',
  },
  "REF-11": {
    file: "packages/token-issuer/src/token-issuer.ts",
    find: "    const scopes = await grantedScopes(found);\n",
    replace:
      "    if (onRefresh !== undefined) await store.rotate(rotationOf(found));\n    const scopes = await grantedScopes(found);\n",
  },
  "REF-12": {
    file: "packages/token-issuer/src/presented-token.ts",
    find: 'if (grant === undefined) return incomplete(principal, "no_grant", "grt");',
    replace: 'if (grant === undefined) return incomplete(principal, "no_id", "grt");',
  },
  "REF-13": {
    file: "packages/token-issuer/src/refusals.ts",
    find: 'detail: "this refresh token has already been rotated"',
    replace: 'detail: "this refresh token has been rotated"',
  },
  "REF-14": {
    file: "packages/token-issuer/src/token-issuer.ts",
    find: "graceSeconds: settings.graceSeconds,",
    replace: "graceSeconds: 10,",
  },
  "REF-15": [
    {
      file: "packages/token-issuer/src/written-claims.ts",
      find: "return signedInAt + sessionSeconds - nowSeconds;",
      replace: "return Infinity;",
    },
    {
      file: "packages/token-issuer/src/written-claims.ts",
      find: "const expiresIn = Math.min(settings.accessSeconds, left);",
      replace: "const expiresIn = settings.accessSeconds;",
    },
  ],
  "REF-16": {
    file: "packages/token-issuer/src/token-issuer.ts",
    find: "nextClaims({ ...session, scopes }, nowSeconds, signer)",
    replace: "nextClaims({ ...session, scopes, roles: [] }, nowSeconds, signer)",
  },
  "REF-17": {
    file: "packages/token-issuer/src/store-calls.ts",
    find: "      if (wasNotSent(error)) throw unavailable(error);\n      result",
    replace: "      if (wasNotSent(error)) throw error;\n      result",
  },
  "REF-18": {
    file: "packages/token-store/src/memory.ts",
    find: 'if (at < use.deadline) return "raced";',
    replace: "",
    test: "packages/token-store/test/memory-suite.test.ts",
  },
  "REF-19": {
    file: "packages/token-issuer/src/token-issuer.ts",
    find: "const result = await store.rotate(rotationOf(found));",
    replace: 'const result = "rotated" as "rotated" | "raced" | "replayed";',
  },
  "OIDC-1": [
    {
      file: "packages/oidc-login/src/oidc-login.ts",
      find: 'if (action !== "start" && action !== "callback") return undefined;',
      replace: 'if (action !== "callback") return undefined;',
    },
    {
      file: "packages/oidc-login/src/oidc-login.ts",
      find: "    [...settings.providers].map(([name, provider]) => {",
      replace: "    [...settings.providers].slice(0, 1).map(([name, provider]) => {",
    },
  ],
  "OIDC-2": {
    file: "packages/oidc-login/src/start.ts",
    find: 'res.setHeader("Location", url.href);',
    replace: 'res.setHeader("Location", url.pathname);',
  },
  "OIDC-3": {
    file: "packages/oidc-login/src/start.ts",
    find: "res.statusCode = 302;",
    replace: "res.statusCode = 307;",
  },
  "OIDC-4": {
    file: "packages/oidc-login/src/attempt-cookie.ts",
    find: '`Path=/; HttpOnly; SameSite=Lax${secure ? "; Secure" : ""}`',
    replace: '`Path=/; SameSite=Lax${secure ? "; Secure" : ""}`',
  },
  "OIDC-5": {
    file: "packages/oidc-login/src/attempt-cookie.ts",
    find: "const MOST_LIVE = 5;",
    replace: "const MOST_LIVE = 6;",
  },
  "OIDC-6": {
    file: "packages/oidc-login/src/attempt-cookie.ts",
    find: 'createCipheriv("aes-256-gcm", keys[0] as Buffer, iv).setAAD(Buffer.from(name))',
    replace: 'createCipheriv("aes-256-gcm", keys[0] as Buffer, iv).setAAD(Buffer.from("login"))',
  },
  "OIDC-7": {
    file: "packages/oidc-login/src/oidc-login.ts",
    find: "if (cookie !== undefined) setLastingCookies(res, [cookies.forget(cookie.name)]);",
    replace: "",
  },
  "OIDC-8": {
    file: "packages/oidc-login/src/return-to.ts",
    find: 'if (!value.startsWith("/") || value.startsWith("//")) return undefined;\n',
    replace: 'if (!value.startsWith("/")) return undefined;\n  if (value.startsWith("//")) return value;\n',
  },
  "OIDC-9": {
    file: "packages/oidc-login/src/id-token.ts",
    find: 'if (own(claims, "nonce") !== expected.nonce) throw new LoginError("nonce");',
    replace: "",
  },
  "OIDC-10": {
    file: "packages/oidc-login/src/oidc-login.ts",
    find: "const value = await onIdentity(identity, req, res);",
    replace: "const value: unknown = identity;",
  },
  "OIDC-11": {
    file: "packages/oidc-login/src/oidc-login.ts",
    find: "if (onIdentity === undefined) throw noHandler();",
    replace: "if (onIdentity === undefined) throw nothingReturned();",
  },
  "OIDC-12": {
    file: "packages/oidc-login/src/refusals.ts",
    find: 'return new ProblemError(401, "this sign-in',
    replace: 'return new ProblemError(400, "this sign-in',
  },
  "OIDC-13": {
    file: "packages/oidc-login/src/callback.ts",
    find: "if (iss === undefined || all.length > 1 || !isIssuer(provider, iss))",
    replace: "if (iss === undefined)",
  },
  "OIDC-14": {
    file: "packages/oidc-login/src/oidc-login.ts",
    find: "sendJson(req, res, 200, value);",
    replace: "sendJson(req, res, 201, value);",
  },
  "OIDC-15": {
    file: "packages/oidc-login/src/provider.ts",
    find: "if (known === undefined)\n      faults.push(",
    replace: 'if (known === undefined && key === "issuer")\n      faults.push(',
  },
  "OIDC-16": {
    file: "packages/oidc-login/src/built-in.ts",
    find: 'if (name === "github") return GITHUB;',
    replace: "",
  },
  "OIDC-17": {
    file: "packages/oidc-login/src/callback.ts",
    find: 'if (onAccessToken === undefined) throw new LoginError("no_id_token", "onAccessToken is missing");\n  const profile = await onAccessToken(accessToken, provider.name);',
    replace:
      "const profile = onAccessToken === undefined ? { subject: accessToken } : await onAccessToken(accessToken, provider.name);",
  },
  "OIDC-18": {
    file: "packages/oidc-login/src/github-identity.ts",
    find: "subject: String(id),",
    replace: 'subject: String(claims["login"]),',
  },
  "OIDC-19": [
    {
      file: "packages/oidc-login/src/identity.ts",
      find: "email_verified: email !== null && (parts.emailVerified",
      replace: "email_verified: email === null || (parts.emailVerified",
    },
    {
      file: "packages/oidc-login/src/identity.ts",
      find: "    subject: parts.subject,\n    provider",
      replace: "    subject: `${parts.provider}:${parts.subject}`,\n    provider",
    },
  ],
  "OIDC-20": {
    file: "packages/oidc-login/src/identity.ts",
    find: "federated_id: `${parts.provider}:${parts.subject}`",
    replace: "federated_id: `${parts.provider}/${parts.subject}`",
  },
  "OIDC-21": {
    file: "examples/full-service/src/federated-sign-in.ts",
    find: "if (linked !== undefined || email === null || !email_verified) return linked;",
    replace: "if (linked !== undefined || email === null) return linked;",
    test: "examples/full-service/test/provider.test.ts",
  },
};

import type { Mutants } from "./mutant.ts";

/** Mutants of the rules on authentication, claims, key sets and tenancy. */
export const identity: Mutants = {
  "AUTH-1": {
    file: "packages/express/src/configure.ts",
    find: '...(mode === undefined ? [] : ["auth"]),',
    replace: '"auth",',
  },
  "AUTH-2": {
    file: "packages/jwt-auth/src/plugin-options.ts",
    find: 'kind: k.withDefault(k.oneOf("jwks", "public_key", "secret"), "jwks")',
    replace: 'kind: k.withDefault(k.oneOf("jwks", "public_key", "secret"), "public_key")',
  },
  "AUTH-3": {
    file: "packages/jwt-auth/src/token-parser.ts",
    find: 'if (!isAllowed(algorithm, allowed)) return refuse("algorithm_not_allowed", "alg");',
    replace: "",
  },
  "AUTH-4": {
    file: "packages/jwt-auth/src/algorithms.ts",
    find: 'if (entry.toLowerCase() === "none") return',
    replace: 'if (entry.toLowerCase() === "none") return undefined; if (entry === "never") return',
  },
  "AUTH-5": {
    file: "packages/jwt-auth/src/algorithms.ts",
    find: "if (symmetric.length === 0 || asymmetric.length === 0) return undefined;",
    replace: "if (list.length > 0) return undefined;",
  },
  "AUTH-6": {
    file: "packages/jwt-auth/src/claims.ts",
    find: 'if (issuer === undefined) return refuse("claim_missing", "iss");',
    replace: "if (issuer === undefined) return undefined;",
  },
  "AUTH-7": {
    file: "packages/jwt-auth/src/jwt-auth.ts",
    find: "if (resolved.audienceWarning !== undefined) warnOnce(resolved.audienceWarning, logger);",
    replace: "",
  },
  "AUTH-8": {
    file: "packages/jwt-auth/src/verifier-options.ts",
    find: "kind: k.withDefault(k.number({ min: 0, max: 3600 }), 30),",
    replace: "kind: k.withDefault(k.number({ min: 0, max: 3600 }), 60),",
  },
  "AUTH-9": {
    file: "packages/jwt-auth/src/claims.ts",
    find: 'for (const name of ["exp", "iat", "sub"]) {',
    replace: 'for (const name of ["exp", "sub"]) {',
  },
  "AUTH-10": {
    file: "packages/jwt-auth/src/claims.ts",
    find: 'return isRefresh === (rules.tokenUse === "refresh") ? undefined : refuse("token_use", "typ");',
    replace: "return undefined;",
  },
  "AUTH-11": {
    file: "packages/jwt-auth/src/jwt-auth.ts",
    find: 'safeLogger(context.log ?? logger)?.info(fields, "bearer token refused");',
    replace: "",
  },
  "AUTH-12": {
    file: "packages/jwt-auth/src/jwt-auth.ts",
    find: "if (found.reason !== undefined) return ignored(req, context, found);",
    replace: "if (found.reason !== undefined) return forbidden(found.reason);",
  },
  "AUTH-13": {
    file: "packages/jwt-auth/src/guards.ts",
    find: "else next(lacking(principal.scopes, wanted));",
    replace: "else next(unauthorized());",
  },
  "AUTH-14": [
    {
      file: "packages/jwt-auth/src/guards.ts",
      find: "if (principalIn(req) === undefined) next(unauthorized());",
      replace: "if (principalIn(req)?.family === undefined) next(unauthorized());",
    },
    {
      file: "packages/jwt-auth/src/guards.ts",
      find: "if (principalIn(req) === undefined) next(unauthorized());",
      replace: "if (false as boolean) next(unauthorized());",
    },
  ],
  "AUTH-15": {
    file: "packages/jwt-auth/src/guards.ts",
    find: "for (const each of wanted) if (!holds(held, each)) return false;\n  return true;",
    replace: "return wanted.some((each) => holds(held, each));",
  },
  "AUTH-16": {
    file: "packages/jwt-auth/src/guards.ts",
    find: "for (const each of wanted) if (holds(held, each)) return true;\n  return false;",
    replace: "return wanted.every((each) => holds(held, each));",
  },
  "AUTH-17": {
    file: "packages/jwt-auth/src/guards.ts",
    find: "if (contextOf(req) === undefined) next();",
    replace: "if (principalIn(req) === undefined) next(unauthorized());",
  },
  "AUTH-18": {
    file: "packages/jwt-auth/src/principal.ts",
    find: "if (principal === undefined) throw unauthorized();\n  return principal;",
    replace: "return principal as Principal;",
  },
  "AUTH-19": {
    file: "packages/jwt-auth/src/principal.ts",
    find: 'issuer: textOf(claims, "iss"),',
    replace: "issuer: undefined,",
  },
  "AUTH-20": {
    file: "packages/jwt-auth/src/token-parser.ts",
    find: "export const MAX_TOKEN_LENGTH = 8192;",
    replace: "export const MAX_TOKEN_LENGTH = 16384;",
  },
  "AUTH-21": {
    file: "packages/jwt-auth/src/token-parser.ts",
    find: 'return bytes.toString("base64url") === part ? bytes : undefined;',
    replace: "return bytes;",
  },
  "AUTH-22": {
    file: "packages/jwt-auth/src/token-parser.ts",
    find: "export const MAX_KID_LENGTH = 256;",
    replace: "export const MAX_KID_LENGTH = 257;",
  },
  "AUTH-23": {
    file: "packages/jwt-auth/src/claims.ts",
    find: "export const MAX_DATE = 8.64e12;",
    replace: "export const MAX_DATE = 8.64e15;",
  },
  "AUTH-24": {
    file: "packages/jwt-auth/src/token-parser.ts",
    find: 'if (Object.hasOwn(header, "crit")) return refuse("critical_header", "crit");',
    replace: "",
  },
  "AUTH-25": {
    file: "packages/jwt-auth/src/key-check.ts",
    find: "export const MIN_RSA_BITS = 2048;",
    replace: "export const MIN_RSA_BITS = 1024;",
  },
  "AUTH-26": [
    {
      file: "packages/jwt-auth/src/key-check.ts",
      find: "(has === curve ? undefined :",
      replace: "(has !== undefined ? undefined :",
    },
    {
      file: "packages/jwt-auth/src/signature.ts",
      find: "if (signature.length !== modulusBytes) return false;",
      replace: "",
    },
    {
      file: "packages/jwt-auth/src/signature.ts",
      find: '=== info + hash(name, signed, "binary");',
      replace: '.endsWith(hash(name, signed, "binary"));',
    },
  ],
  "AUTH-27": {
    file: "packages/jwt-auth/src/principal.ts",
    find: "if (!Array.isArray(value)) return none;",
    replace: "return none;",
  },
  "AUTH-28": {
    file: "packages/jwt-auth/src/claims.ts",
    find: 'if (issuer !== undefined && typeof issuer !== "string") return refuse("claim_type", "iss");',
    replace: "",
  },
  "AUTH-29": {
    file: "packages/jwt-auth/src/claims.ts",
    find: 'if (!(issuedAt <= now + leeway)) return refuse("issued_in_future", "iat");',
    replace: "",
  },
  "AUTH-30": {
    file: "packages/jwt-auth/src/claims.ts",
    find: "if (!(expiresAt > now - leeway))",
    replace: "if (!(expiresAt >= now - leeway))",
  },
  "AUTH-31": {
    file: "packages/jwt-auth/src/secret-rules.ts",
    find: "export const MIN_SECRET_BYTES = 32;",
    replace: "export const MIN_SECRET_BYTES = 31;",
  },
  "AUTH-32": {
    file: "packages/jwt-auth/src/secret-rules.ts",
    find: 'if (/^(?:ssh-|ecdsa-sha2-|sk-ssh-|sk-ecdsa-)/i.test(text)) return "an SSH key";',
    replace: "",
  },
  "AUTH-33": {
    file: "packages/jwt-auth/src/bearer.ts",
    find: 'return header.includes(" ", start) ? "" : header.slice(start);',
    replace: 'return header.slice(start).split(" ", 1)[0];',
  },
  "AUTH-34": {
    file: "packages/jwt-auth/src/bearer.ts",
    find: "return SAFE_METHODS.has(req.method) || isOfThisOrigin(req);",
    replace: "return true;",
  },
  "AUTH-35": {
    file: "packages/jwt-auth/src/reduced-profile.ts",
    find: "if (said === undefined && given.length > 1) {",
    replace: "if (said === undefined && given.length > 2) {",
  },
  "AUTH-36": {
    file: "packages/jwt-auth/src/reduced-profile.ts",
    find: '[mode === "secret" ? "HS256" : "RS256"]',
    replace: '["RS256"]',
  },
  "AUTH-37": {
    file: "packages/jwt-auth/src/reduced-profile.ts",
    find: 'if (mode === "jwks") {',
    replace: 'if (mode === "never") {',
  },
  "AUTH-38": {
    file: "packages/jwt-auth/src/verifier-options.ts",
    find: 'key: "leeway",',
    replace: 'key: "leeway_seconds",',
  },
  "CLAIM-1": {
    file: "packages/jwt-auth/src/principal.ts",
    find: "namesIn(own(claims, names.rolesClaim))",
    replace: 'namesIn(own(claims, "roles"))',
  },
  "CLAIM-2": {
    file: "packages/jwt-auth/src/revocation.ts",
    find: "return { jti: principal.tokenId, fam:",
    replace: "return { jti: undefined, fam:",
  },
  "CLAIM-3": {
    file: "packages/jwt-auth/src/principal.ts",
    find: 'family: textOf(claims, "fam"),',
    replace: "family: undefined,",
  },
  "CLAIM-4": {
    file: "packages/jwt-auth/src/claims.ts",
    find: 'const isRefresh = own(claims, "typ") === "refresh";',
    replace: 'const isRefresh = own(claims, "typ") === "refresh_token";',
  },
  "CLAIM-5": {
    file: "packages/jwt-auth/src/principal.ts",
    find: "isRefresh ? none : namesIn(own(claims, names.scopeClaim))",
    replace:
      'isRefresh ? namesIn((own(claims, "grt") as { scopes?: unknown } | undefined)?.scopes) : namesIn(own(claims, names.scopeClaim))',
  },
  "CLAIM-6": {
    file: "packages/jwt-auth/src/key-set.ts",
    find: "(kid === undefined ? only : byKid.get(kid))?.get(algorithm)",
    replace: "(only ?? (kid === undefined ? undefined : byKid.get(kid)))?.get(algorithm)",
  },
  "CLAIM-7": {
    file: "packages/jwt-auth/src/principal.ts",
    find: "scopes: isRefresh ? none : namesIn(",
    replace: "scopes: namesIn(",
  },
  "CLAIM-8": [
    {
      file: "packages/jwt-auth/src/principal.ts",
      find: "tenant: textOf(claims, names.tenantClaim),",
      replace: "tenant: undefined,",
    },
    {
      file: "packages/jwt-auth/src/principal.ts",
      find: "roles: isRefresh ? none : namesIn(own(claims, names.rolesClaim)),",
      replace: "roles: none,",
    },
  ],
  "KEY-1": {
    file: "packages/jwt-auth/src/refreshed-keys.ts",
    find: "const UNKNOWN_KID_MS = 60_000;",
    replace: "const UNKNOWN_KID_MS = 1_000;",
  },
  "KEY-2": {
    file: "packages/jwt-auth/src/refreshed-keys.ts",
    find: "if (keys.size > 0 && (kid === undefined || keys.has(kid))) return undefined;",
    replace: "if (keys.size > 0) return undefined;",
  },
  "KEY-3": {
    file: "packages/token-issuer/src/ring-rules.ts",
    find: 'if (key.state === "previous" && now < due && !immediately) {',
    replace: "if (false as boolean) {",
  },
  "KEY-4": {
    file: "packages/jwt-auth/src/refreshed-keys.ts",
    find: "      attempt?.failed();\n",
    replace: "      attempt?.failed();\n      use(noKeys);\n",
  },
  "KEY-5": {
    file: "packages/jwt-auth/src/refreshed-keys.ts",
    find: "      await flight;\n      const shared = keys.find(kid, algorithm);\n      if (shared !== undefined) return shared;",
    replace: "      await flight.catch(() => undefined);\n      return keys.find(kid, algorithm);",
  },
  "KEY-6": {
    file: "packages/jwt-auth/src/key-set-fetch.ts",
    find: "if (made === attempts || pause === undefined) throw failure;",
    replace: "if (pause === undefined) throw failure;",
  },
  "KEY-7": {
    file: "packages/jwt-auth/src/key-set-fetch.ts",
    find: "retryable: status === 429 || status >= 500,",
    replace: "retryable: true,",
  },
  "KEY-8": {
    file: "packages/jwt-auth/src/key-set-fetch.ts",
    find: "backoff({ baseMs: 1000, maxMs: 1000, minMs: 200, random: plan.random })",
    replace: "backoff({ baseMs: 1000, maxMs: 1000, minMs: 0, random: plan.random })",
  },
  "KEY-9": {
    file: "packages/jwt-auth/src/refreshed-keys.ts",
    find: "      attempt?.failed();\n",
    replace: "      attempt?.cancelled();\n",
  },
  "KEY-10": {
    file: "packages/jwt-auth/src/refreshed-keys.ts",
    find: "if (breaker !== undefined && attempt === undefined) return undefined;",
    replace:
      'if (breaker !== undefined && (attempt === undefined || breaker.state !== "closed")) return undefined;',
  },
  "KEY-11": {
    file: "packages/jwt-auth/src/key-set.ts",
    find: "const only = lines.size === 1 ? first : undefined;",
    replace: "const only = first;",
  },
  "KEY-12": {
    file: "packages/jwt-auth/src/key-set.ts",
    find: 'if (use !== undefined && use !== "sig") return undefined;',
    replace: "",
  },
  "KEY-13": {
    file: "packages/resilience/src/bounded-fetch.ts",
    find: "if (length > maxBytes) throw new AnswerTooLargeError(maxBytes);",
    replace: "",
  },
  "KEY-14": {
    file: "packages/jwt-auth/src/key-set-options.ts",
    find: 'if (protocol === "https:" || env !== "prod") return',
    replace: 'if (protocol === "https:" || env !== "staging") return',
  },
  "KEY-15": {
    file: "packages/jwt-auth/src/refreshed-keys.ts",
    find: "const newer = flight ?? lookUp(kid);",
    replace: "const newer = lookUp(kid);",
  },
  "TEN-1": {
    file: "packages/tenancy/src/options.ts",
    find: 'kind: k.withDefault(sourceList, ["token", "subdomain"])',
    replace: 'kind: k.withDefault(sourceList, ["token"])',
  },
  "TEN-2": {
    file: "packages/tenancy/src/options.ts",
    find: 'if (baseDomain !== "" || !sources.includes("subdomain")) return [];',
    replace: "if (true as boolean) return [];",
  },
  "TEN-3": {
    file: "packages/tenancy/src/tenancy.ts",
    find: "if (requireTenant && resolution.tenant === undefined && !isExempt",
    replace: "if (requireTenant && resolution.tenant === undefined && isExempt",
  },
  "TEN-4": {
    file: "packages/tenancy/src/resolution.ts",
    find: "} else if (tenant !== name) {",
    replace: "} else if (false as boolean) {",
  },
  "TEN-5": {
    file: "packages/tenancy/src/tenancy.ts",
    find: "      .map((source) => readers[source]),",
    replace: "      .map((source) => readers[source]).concat(readers.header),",
  },
  "TEN-6": {
    file: "packages/tenancy/src/resolution.ts",
    find: 'if (caller === undefined) return refusedFor("no_session", requested, name, undefined);',
    replace: "if (caller === undefined) return granted(name, name);",
  },
  "TEN-7": {
    file: "packages/tenancy/src/resolution.ts",
    find: 'if (!policy.trustUnscoped) return refusedFor("unscoped", requested, name, undefined);',
    replace: 'return refusedFor("unscoped", requested, name, undefined);',
  },
  "TEN-8": {
    file: "packages/tenancy/src/resolution.ts",
    find: "let tenant = caller === undefined ? undefined : signedTenant(policy, caller);",
    replace:
      "let tenant =\n    caller === undefined || policy.named.some((nameIn) => nameIn(request) !== undefined)\n      ? undefined\n      : signedTenant(policy, caller);",
  },
  "TEN-9": {
    file: "packages/tenancy/src/resolution.ts",
    find: "if (name !== undefined) return granted(name, name);\n  }\n  return UNRESOLVED;",
    replace:
      "if (name !== undefined) return granted(policy.named.map((each) => each(request)).findLast((each) => each !== undefined) ?? name, name);\n  }\n  return UNRESOLVED;",
  },
  "TEN-10": {
    file: "packages/tenancy/src/guards.ts",
    find: "if (context?.tenantId === undefined) next(refusalError(resolutionOf(context)));",
    replace: "if (context?.tenantId === undefined) next();",
  },
  "TEN-11": [
    {
      file: "packages/express/src/configure.ts",
      find: '...(sources === "" ? [] : ["tenancy"]),',
      replace: "",
    },
    {
      file: "packages/express/src/configure.ts",
      find: '...(sources === "" ? [] : ["tenancy"]),',
      replace: '"tenancy",',
    },
  ],
  "TEN-12": {
    file: "packages/tenancy/src/slug.ts",
    find: "/^[a-z0-9][a-z0-9-]{0,62}$/",
    replace: "/^[a-z0-9][a-z0-9-]{0,63}$/",
  },
  "TEN-13": {
    file: "packages/tenancy/src/host.ts",
    find: " || reserved.has(label) ? undefined",
    replace: " ? undefined",
  },
  "TEN-14": { file: "packages/tenancy/src/options.ts", find: '    "/t",\n', replace: '    "/tenant",\n' },
  "TEN-15": {
    file: "packages/tenancy/src/slug.ts",
    find: "/^[A-Za-z0-9][A-Za-z0-9_.:@|-]{0,127}$/",
    replace: "/^[A-Za-z0-9][A-Za-z0-9_.:@|-]{0,128}$/",
  },
  "TEN-16": { file: "packages/tenancy/src/exempt-paths.ts", find: '  "POST /auth/refresh",\n', replace: "" },
  "TEN-17": {
    file: "packages/tenancy/src/tenancy.ts",
    find: "next(refusalAtOnce(resolution, req));",
    replace: "next(tenantRequired());",
  },
  "TEN-18": {
    file: "packages/tenancy/src/guards.ts",
    find: 'next(notFoundError("this request names no tenant", { code: "ERR_SVC_TENANT_NOT_NAMED" }));',
    replace: "next();",
  },
  "TEN-19": {
    file: "packages/tenancy/src/refusals.ts",
    find: ": its token carries no tenant`",
    replace: ": it has no tenant`",
  },
  "TEN-20": {
    file: "packages/tenancy/src/slug.ts",
    find: "export const LONGEST_SHOWN = 128;",
    replace: "export const LONGEST_SHOWN = 129;",
  },
  "TEN-21": {
    file: "packages/tenancy/src/options.ts",
    find: "listOf(someSource).accepts(value) && value.length > 0",
    replace: "Array.isArray(value)",
  },
  "TEN-22": {
    file: "packages/tenancy/src/tenancy.ts",
    find: 'if (env === "prod" && resolved.sources.includes("header")) {',
    replace: 'if (env === "staging" && resolved.sources.includes("header")) {',
  },
  "TEN-23": {
    file: "packages/tenancy/src/options.ts",
    find: 'env: "SVC_TENANCY_REQUIRE_TENANT",',
    replace: 'env: "SVC_TENANCY_REQUIRED",',
  },
  "AUTH-39": [
    {
      file: "packages/context/src/identity-texts.ts",
      find: "const TENANT_ID = /^[^\\p{Cc}\\p{Surrogate}]{1,255}$/u;",
      replace: "const TENANT_ID = /^[^\\p{Surrogate}]{1,255}$/u;",
    },
    {
      file: "packages/jwt-auth/src/claims.ts",
      find: 'tenant === "" || isTenantId(tenant) ? undefined',
      replace: 'typeof tenant === "string" ? undefined',
    },
  ],
};

import { defineOptions, kinds as k, type OptionsOf } from "@svc/options";
import { algorithmTexts } from "./algorithms.ts";
import { keysKind } from "./key-input.ts";
import { revocationKind } from "./revocation.ts";
import { isObject } from "./token-parser.ts";
import { verifierOptions } from "./verifier-options.ts";

export const issuerOptions = defineOptions("jwtAuth()", {
  /** Value of `iss` in the issuer's tokens; compared exactly. Required. */
  issuer: { kind: k.string() },
  /**
   * Whether the URL of the key set comes from the issuer's discovery document (OpenID Connect Discovery 1.0). Exactly one of
   * `discovery`, `jwksUrl` and `keys` is required. Default: false.
   */
  discovery: { kind: k.withDefault(k.boolean(), false) },
  /** URL of the issuer's key set. Default: none. */
  jwksUrl: { kind: k.optional(k.secret(k.string())) },
  /** The issuer's key or keys, in a form of the option `keys` of `jwtAuth()`. Default: none. */
  keys: { kind: k.optional(keysKind) },
  /** Accepted audience or audiences in the issuer's tokens. Default: any, with a warning. */
  audience: { kind: verifierOptions.keys.audience.kind },
  /** Algorithms that the issuer may use, of one family. Default: as for `jwtAuth()`. */
  algorithms: { kind: k.optional(algorithmTexts) },
  /** Revocation check for the issuer's tokens, called at every use of a token. Default: revocation is not checked. */
  revocation: { kind: revocationKind },
});

/** One of several issuers whose tokens `jwtAuth()` accepts. */
export type IssuerOptions = OptionsOf<typeof issuerOptions>;

/** Kind for the option `issuers`; the members of each issuer are checked with {@link issuerOptions}. */
export const issuersKind: k.Kind<readonly IssuerOptions[]> = {
  expects: "a list of one or more issuers, each an object with issuer, and discovery, jwksUrl or keys",
  // Secret, because an entry may be a private key by mistake.
  secret: true,
  accepts: (value): value is readonly IssuerOptions[] =>
    Array.isArray(value) && value.length > 0 && Array.from(value).every(isObject),
};

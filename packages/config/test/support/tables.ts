import type { Table } from "@svc/config";
import {
  boolean,
  either,
  integer,
  listOf,
  number,
  oneOf,
  optional,
  secret,
  string,
  withDefault,
} from "@svc/options";

export interface DatabaseSettings {
  readonly url: string;
  readonly poolSize: number;
  readonly statementTimeoutSeconds: number | undefined;
}

/** The table of a plugin with a required secret. */
export const databaseTable: Table<DatabaseSettings> = {
  keys: {
    url: { key: "url", kind: secret(string()) },
    poolSize: { key: "pool_size", kind: withDefault(integer({ min: 1, max: 100 }), 10) },
    statementTimeoutSeconds: { key: "statement_timeout", kind: optional(number({ min: 0.001 })) },
  },
};

export interface ProviderSettings {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: readonly string[];
}

export interface AuthSettings {
  readonly mode: "secret" | "public_key" | "jwks";
  readonly algorithms: readonly string[];
  readonly issuer: string | undefined;
  readonly audience: string | readonly string[] | undefined;
  readonly secret: string | undefined;
  readonly leeway: number;
  readonly failOpen: boolean;
  readonly providers: Readonly<Record<string, ProviderSettings>>;
}

/**
 * A plugin's table with keys whose environment variable overrides the file, keys whose file value overrides the
 * variable, and nested tables with names from the file.
 */
export const authTable: Table<AuthSettings> = {
  keys: {
    mode: {
      key: "mode",
      kind: withDefault(oneOf("secret", "public_key", "jwks"), "jwks"),
      env: "SVC_AUTH_MODE",
    },
    algorithms: {
      key: "algorithms",
      kind: withDefault(listOf(string()), ["RS256"]),
      env: "SVC_AUTH_ALGORITHMS",
    },
    issuer: { key: "issuer", kind: optional(string()), env: "SVC_AUTH_ISSUER", wins: "env" },
    audience: {
      key: "audience",
      kind: optional(either(string(), listOf(string()))),
      env: "SVC_AUTH_AUDIENCE",
      wins: "env",
    },
    secret: { key: "secret", kind: optional(secret(string())), env: "SVC_AUTH_SECRET", wins: "env" },
    leeway: { key: "leeway", kind: withDefault(number({ min: 0 }), 30), env: "SVC_AUTH_LEEWAY" },
    failOpen: { key: "revocation_fail_open", kind: withDefault(boolean(), true) },
    providers: {
      key: "providers",
      each: {
        keys: {
          clientId: { key: "client_id", kind: string() },
          clientSecret: { key: "client_secret", kind: secret(string()) },
          scopes: { key: "scopes", kind: withDefault(listOf(string()), ["openid"]) },
        },
      },
    },
  },
  check({ mode, secret: given }, environment) {
    if (mode !== "secret" || given === undefined || environment !== "prod" || given.length >= 32) return [];
    return [{ key: "secret", message: "must have at least 32 bytes in prod" }];
  },
};

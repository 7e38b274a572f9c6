import type { Environment } from "@svc/config";
import { ConfigurationError, type Definition, listOf, oneOf, string, withDefault } from "@svc/options";
import { authOptions } from "./auth-options.ts";

type Mode = "secret" | "public_key" | "jwks";

const keyVariables: readonly (readonly [Mode, string])[] = [
  ["secret", "SVC_AUTH_SECRET"],
  ["public_key", "SVC_AUTH_PUBLIC_KEY"],
  ["jwks", "SVC_AUTH_JWKS_URL"],
];

/** The plugins of the reduced profile, which has a fixed set. */
export interface ReducedProfile {
  /** The options of authentication, with the defaults of the profile. */
  readonly auth: Pick<Definition, "keys">;
  readonly defaultPlugins: readonly string[];
}

/**
 * Returns the plugins of the reduced profile: `SVC_AUTH_MODE` or exactly one key enables authentication (AUTH-35), and
 * sources enable tenancy (TEN-11).
 *
 * @throws ConfigurationError for settings that the profile cannot enforce (AUTH-37)
 */
export function reducedProfile(env: Environment): ReducedProfile {
  const isSet = (name: string): boolean => (env[name] ?? "") !== "";
  const given = keyVariables.filter(([, name]) => isSet(name));
  const said = isSet("SVC_AUTH_MODE") ? env["SVC_AUTH_MODE"] : undefined;
  if (said === undefined && given.length > 1) {
    const names = given.map(([, name]) => name).join(" and ");
    refuse("SVC_AUTH_MODE", `is required where ${names} are set: it says which of them counts`);
  }
  const mode = said ?? given[0]?.[0];
  if (mode === "jwks") {
    refuse(
      said === undefined ? "SVC_AUTH_JWKS_URL" : "SVC_AUTH_MODE",
      "asks for mode jwks, which the reduced profile does not have; use secret or public_key, or the full profile",
    );
  }
  const auth = mode === undefined ? [] : (["auth"] as const);
  const tenancy = isSet("SVC_TENANCY_SOURCES") ? (["tenancy"] as const) : [];
  return {
    auth: reducedAuth(mode === "secret" ? "secret" : "public_key"),
    defaultPlugins: ["observability", "metrics", ...auth, ...tenancy],
  };
}

// The key decides the mode, and the mode the algorithm (AUTH-36).
function reducedAuth(mode: "secret" | "public_key"): Pick<Definition, "keys"> {
  const { keys } = authOptions;
  return {
    keys: {
      ...keys,
      mode: { ...keys.mode, kind: withDefault(oneOf("secret", "public_key"), mode) },
      algorithms: {
        ...keys.algorithms,
        kind: withDefault(listOf(string()), [mode === "secret" ? "HS256" : "RS256"]),
      },
    },
  };
}

function refuse(key: string, message: string): never {
  throw new ConfigurationError("the service", [{ key, message }]);
}

import { ConfigurationError, kinds as k } from "@svc/options";
import { authOptions } from "./plugin-options.ts";

type Mode = "secret" | "public_key" | "jwks";

const keyVariables: readonly (readonly [Mode, string])[] = [
  ["secret", "SVC_AUTH_SECRET"],
  ["public_key", "SVC_AUTH_PUBLIC_KEY"],
  ["jwks", "SVC_AUTH_JWKS_URL"],
];

/**
 * Returns the mode of the reduced profile, from `SVC_AUTH_MODE` or the only key variable that is set (AUTH-35);
 * undefined if neither is set.
 *
 * @throws ConfigurationError for settings that the profile cannot enforce (AUTH-37)
 */
export function reducedMode(
  env: Readonly<Record<string, string | undefined>>,
): "secret" | "public_key" | undefined {
  const isSet = (name: string): boolean => (env[name] ?? "") !== "";
  const given = keyVariables.filter(([, name]) => isSet(name));
  const said = isSet("SVC_AUTH_MODE") ? env["SVC_AUTH_MODE"] : undefined;
  if (said === undefined && given.length > 1) {
    const names = given.map(([, name]) => name).join(" and ");
    refuse("SVC_AUTH_MODE", `is required when ${names} are set: it selects one of them`);
  }
  const mode = said ?? given[0]?.[0];
  if (mode === "jwks") {
    refuse(
      said === undefined ? "SVC_AUTH_JWKS_URL" : "SVC_AUTH_MODE",
      "selects mode jwks, which the reduced profile does not have; use secret or public_key, or the full profile",
    );
  }
  if (mode === undefined) return undefined;
  // A mode other than these two is refused when the plugin reads the variable.
  return mode === "secret" ? "secret" : "public_key";
}

/**
 * Returns the options `mode` and `algorithms` of `[plugin.auth]` with the defaults of the reduced profile: the given
 * mode, and the algorithm for it (AUTH-36).
 */
export function reducedAuth(mode: "secret" | "public_key") {
  const { keys } = authOptions;
  return {
    mode: { ...keys.mode, kind: k.withDefault(k.oneOf("secret", "public_key"), mode) },
    algorithms: {
      ...keys.algorithms,
      kind: k.withDefault(k.listOf(k.string()), [mode === "secret" ? "HS256" : "RS256"]),
    },
  };
}

function refuse(key: string, message: string): never {
  throw new ConfigurationError("the service", [{ key, message }]);
}

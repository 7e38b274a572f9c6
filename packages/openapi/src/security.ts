import type { Guard } from "@svc/context";
import { defined } from "./schema.ts";

const IDENTITY_GUARDS = ["auth", "scopes", "roles", "tenant"];

/** Returns the security requirements that guards imply; an empty list for a route that needs no caller. */
export function securityOf(guards: readonly Guard[], tokenCookie: string | undefined): object[] {
  const isRequired = guards.some(({ kind }) => IDENTITY_GUARDS.includes(kind));
  if (!isRequired && !guards.some(({ kind }) => kind === "optional_auth")) return [];
  return [
    ...(isRequired ? [] : [{}]),
    { bearerAuth: [] },
    ...(tokenCookie === undefined ? [] : [{ cookieAuth: [] }]),
  ];
}

/** Returns the scopes and roles that guards require. OpenAPI can express them only with OAuth flows. */
export function requiredBy(guards: readonly Guard[]): object {
  const values = (wanted: string): readonly string[] | undefined => {
    const found = new Set(guards.flatMap((each) => (each.kind === wanted ? each.values : [])));
    return found.size === 0 ? undefined : [...found].toSorted();
  };
  return defined({ "x-required-scopes": values("scopes"), "x-required-roles": values("roles") });
}

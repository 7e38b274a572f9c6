import type { Kit } from "./kit.ts";

const grants = new WeakMap<Kit, { readonly token: string; readonly madeAt: number }>();
/** Reuse time of a token, well below its lifetime. */
const grantMs = 120_000;

/** Returns a token with every right that the probes name, if there are keys; reuses it for a while. */
export function grant(kit: Kit): string | undefined {
  const { keys, probes } = kit.settings;
  if (keys === undefined || !kit.has("auth")) return undefined;
  const known = grants.get(kit);
  if (known !== undefined && performance.now() - known.madeAt < grantMs) return known.token;
  const token = kit.tokens.mint({
    scopes: [...(probes.scoped?.scopes ?? []), ...(keys.scopes ?? [])],
    roles: [...(probes.role?.roles ?? []), ...(keys.roles ?? [])],
  });
  grants.set(kit, { token, madeAt: performance.now() });
  return token;
}

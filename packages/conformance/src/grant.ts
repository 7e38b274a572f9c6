import type { Kit } from "./kit.ts";
import type { TokenShape } from "./tokens.ts";

/** Returns all scopes and roles that the probes and `keys` name, so that only a token's defect can cause a refusal. */
export function rights({ settings: { probes, keys } }: Kit): TokenShape {
  return {
    scopes: [...(probes.scoped?.scopes ?? []), ...(keys?.scopes ?? [])],
    roles: [...(probes.role?.roles ?? []), ...(keys?.roles ?? [])],
  };
}

const grants = new WeakMap<Kit, { readonly token: string; readonly madeAt: number }>();
/** Time for which a token is reused; well below its lifetime. */
const grantMs = 120_000;

/** Returns a token with all scopes and roles that the probes name, reused for a while; undefined without keys. */
export function grant(kit: Kit): string | undefined {
  if (kit.settings.keys === undefined || !kit.has("auth")) return undefined;
  const known = grants.get(kit);
  if (known !== undefined && performance.now() - known.madeAt < grantMs) return known.token;
  const token = kit.tokens.mint(rights(kit));
  grants.set(kit, { token, madeAt: performance.now() });
  return token;
}

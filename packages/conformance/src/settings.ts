import type { Feature, Probe } from "./option-values.ts";
import type { Resolved } from "./options.ts";

/** The options with all defaults applied. */
export interface Settings extends Omit<
  Resolved<"options">,
  "url" | "replica" | "features" | "keys" | "probes" | "tenancy" | "limits" | "only"
> {
  readonly url: URL;
  readonly replica: URL | undefined;
  readonly features: ReadonlySet<Feature>;
  readonly keys: Resolved<"keys"> | undefined;
  /** The names of the claims, present even without keys. */
  readonly claims: Pick<Resolved<"keys">, "scopeClaim" | "rolesClaim" | "tenantClaim">;
  readonly probes: ResolvedProbes;
  readonly tenancy: Resolved<"tenancy">;
  readonly limits: Resolved<"limits">;
  /** The tenant claim of ordinary tokens. */
  readonly tokenTenant: string | undefined;
  readonly only: ReadonlySet<string> | undefined;
}

/** The probes with their short forms expanded. */
export interface ResolvedProbes extends Omit<
  Resolved<"probes">,
  "tenant" | "failing" | "limited" | "session"
> {
  readonly limited: LimitedProbe | undefined;
  readonly tenant: Resolved<"tenant"> | undefined;
  readonly failing: Resolved<"failing"> | undefined;
  readonly session: ResolvedSession | undefined;
}

/** A route with a rate limit, and the values of that limit. */
export type LimitedProbe = Resolved<"limited"> & { readonly burst: number };

export type ResolvedSession = Resolved<"session"> & { readonly route: Probe };

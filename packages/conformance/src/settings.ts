import type { ConformanceOptions, Feature, Keys, Limits, Probes, TenancySettings } from "./options.ts";
import type { ResolvedSession } from "./session-settings.ts";

/** The options with all defaults applied. */
export interface Settings {
  readonly url: URL;
  readonly replica: URL | undefined;
  readonly profile: "full" | "reduced";
  readonly features: ReadonlySet<Feature>;
  readonly keys: Keys | undefined;
  readonly probes: ResolvedProbes;
  readonly tenancy: Required<{ [Key in keyof TenancySettings]: NonNullable<TenancySettings[Key]> }>;
  readonly limits: Required<{ [Key in keyof Limits]: NonNullable<Limits[Key]> }>;
  /** The tenant claim of ordinary tokens. */
  readonly tokenTenant: string | undefined;
  readonly house: boolean;
  readonly only: ReadonlySet<string> | undefined;
  readonly require: readonly string[];
  readonly maxNotApplicable: number | undefined;
  readonly serveKeys: string | undefined;
  readonly log: ConformanceOptions["log"];
  readonly requestSeconds: number;
  readonly checkSeconds: number;
  readonly totalSeconds: number;
  readonly keySetPatienceSeconds: number;
  readonly concurrency: number;
}

/** The probes with their short forms expanded. */
export interface ResolvedProbes extends Omit<Probes, "tenant" | "failing" | "session"> {
  readonly tenant?: Exclude<Probes["tenant"], string>;
  readonly failing?: Exclude<Probes["failing"], string>;
  readonly session?: ResolvedSession | undefined;
}

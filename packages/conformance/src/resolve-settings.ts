import { isObject } from "./answer.ts";
import { checks } from "./checks/index.ts";
import { InvalidUse } from "./faults.ts";
import { requirable } from "./needs.ts";
import { type Feature, features } from "./option-values.ts";
import { type ConformanceOptions, membersOf, type Probes, resolved } from "./options.ts";
import type { LimitedProbe, ResolvedProbes, Settings } from "./settings.ts";
import { isRule } from "./rules.ts";
import { areTexts, isProbe, kinds, memberFaults, shapeFaults, unknownNames } from "./shape-faults.ts";

function resolveProbes(given: Probes): ResolvedProbes {
  // Keep null values, so that they are reported as faults.
  const probes = { ...resolved("probes", given), ...given };
  const { tenant, failing, limited, session } = given;
  // A route that requires scopes also rejects invalid tokens, so it can replace a missing probe `protected`.
  const inner = probes.protected ?? probes.scoped?.request;
  const limit = limited === undefined ? undefined : resolved("limited", limited);
  const whole = session && resolved("session", session);
  return {
    ...probes,
    protected: inner,
    tenant: tenant === undefined ? undefined : resolved("tenant", tenant),
    failing: failing === undefined ? undefined : resolved("failing", failing),
    limited: limit && { ...limit, burst: limit.burst ?? limit.limit },
    session: whole && {
      ...whole,
      route: whole.route ?? inner ?? "/auth/me",
      store: whole.store && resolved("store", whole.store),
    },
  };
}

/** Returns the faults in the probes. */
function probeFaults(probes: ResolvedProbes, given: Probes): readonly string[] {
  return Object.entries(membersOf("probes")).flatMap(([name, { kind }]) => {
    const probe: unknown = probes[name as keyof ResolvedProbes];
    if (probe === undefined) return [];
    switch (kind) {
      case "session":
      case "federated":
      case "limitStore":
        return shapeFaults(kind, `probes.${name}.`, given[kind]);
      case "limited":
        return limitFaults(given.limited, probes.limited);
      case "dependencies": {
        const isWhole = (each: unknown): boolean =>
          isObject(each) &&
          typeof each["check"] === "string" &&
          typeof each["critical"] === "boolean" &&
          isProbe(each["break"]) &&
          isProbe(each["restore"]);
        return Array.isArray(probe) && probe.every(isWhole)
          ? []
          : ["probes.dependencies: each needs check, critical, break and restore"];
      }
      case "request":
        return isProbe(probe) ? [] : [`probes.${name}: ${kinds["request"]?.[0]}`];
      default: {
        const list = kind === "scoped" ? "scopes" : "roles";
        const { request, [list]: names } = isObject(probe) ? probe : {};
        const needsNames = kind === "scoped" || kind === "role";
        return [
          ...(isProbe(request) ? [] : [`probes.${name}: needs request: "/path" or { path }`]),
          ...(needsNames && !(areTexts(names) && (names as unknown[]).length > 0)
            ? [`probes.${name}.${list}: must be a list of strings`]
            : []),
        ];
      }
    }
  });
}

/** Minimum burst with which the kit can distinguish a full bucket from a bucket that has gained a few tokens. */
const leastBurst = 4;
/** Maximum burst: the kit sends more than twice as many requests to the probe `limited`. */
const mostBurst = 200;

function limitFaults(given: Probes["limited"], limited: LimitedProbe | undefined): readonly string[] {
  const at = "probes.limited.";
  const faults = shapeFaults("limited", at, typeof given === "string" ? { request: given } : given);
  if (faults.length > 0 || limited === undefined) return faults;
  const numbers = { limit: limited.limit, windowSeconds: limited.windowSeconds, burst: limited.burst };
  return Object.entries(numbers).flatMap(([name, value]) => {
    if (!(value > 0)) return [`${at}${name}: must be a number above 0`];
    return name === "burst" && (value < leastBurst || value > mostBurst)
      ? [`${at}burst: must be a number from ${leastBurst} to ${mostBurst}; it is ${value}`]
      : [];
  });
}

function baseUrl(name: string, given: string, faults: string[]): URL | undefined {
  const url = URL.parse(given) ?? undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    // Everything before the last @ may be a password.
    const shown = given.replace(/^(\w+:\/\/)?.*@/s, "$1***@");
    faults.push(`${name}: ${JSON.stringify(shown)} is not an http or https URL`);
  }
  if (url !== undefined && (url.username !== "" || url.password !== "")) {
    faults.push(`${name}: must not contain a user or a password`);
  }
  return url;
}

/** Returns the faults in `require` and `maxNotApplicable`, which set how much a run must check. */
function amountFaults({
  require,
  maxNotApplicable,
}: Pick<ConformanceOptions, "require" | "maxNotApplicable">): readonly string[] {
  const known = requirable(checks);
  const isAmount =
    maxNotApplicable === undefined || (Number.isInteger(maxNotApplicable) && maxNotApplicable >= 0);
  return [
    ...(require ?? []).flatMap((name) =>
      known.includes(name)
        ? []
        : `require: ${JSON.stringify(name)} is unknown; expected one of ${known.join(", ")}`,
    ),
    ...(isAmount
      ? []
      : [`maxNotApplicable: must be a whole number of at least 0; it is ${maxNotApplicable}`]),
  ];
}

/** Returns the options of the right type, and adds the faults of the others. The members of the probes are not checked. */
function typedOptions(given: unknown, faults: string[]): Partial<ConformanceOptions> {
  if (!isObject(given)) {
    faults.push("the options must be an object");
    return {};
  }
  faults.push(...unknownNames("options", "", given));
  const typed = Object.entries(membersOf("options")).filter(([name, member]) => {
    const value = given[name];
    const isChecked = name !== "probes" || (value !== undefined && !isObject(value));
    const found = isChecked ? memberFaults(member, name, value) : [];
    faults.push(...found);
    return found.length === 0;
  });
  return Object.fromEntries(typed.map(([name]) => [name, given[name]]));
}

/**
 * Checks the options and returns them with all defaults applied.
 * @throws InvalidUse that lists every fault
 */
export function resolveSettings(given: ConformanceOptions): Settings {
  const faults: string[] = [];
  const options: Omit<ConformanceOptions, "url"> & { readonly url?: string } = typedOptions(given, faults);
  const all = resolved("options", { ...options, url: options.url ?? "" });
  const probes = resolveProbes(options.probes ?? {});
  const tenancy = resolved("tenancy", options.tenancy ?? {});
  const keys = options.keys && resolved("keys", options.keys);
  faults.push(
    ...unknownNames("probes", "probes.", options.probes ?? {}),
    ...probeFaults(probes, options.probes ?? {}),
  );
  const url = options.url === undefined ? undefined : baseUrl("url", options.url, faults);
  const replica = options.replica === undefined ? undefined : baseUrl("replica", options.replica, faults);
  const declared: readonly Feature[] = options.features ?? [
    "metrics",
    "security_headers",
    ...(keys === undefined && probes.session === undefined ? [] : (["auth"] as const)),
    ...(options.tenancy === undefined ? [] : (["tenancy"] as const)),
    ...(options.serveOtlp === undefined ? [] : (["telemetry"] as const)),
    ...(options.serveUpstream === undefined ? [] : (["gateway"] as const)),
    ...(probes.docs === undefined ? [] : (["openapi"] as const)),
    ...(probes.limited === undefined ? [] : (["rate_limit"] as const)),
  ];
  for (const each of declared) {
    if (!features.includes(each)) {
      faults.push(`features: ${JSON.stringify(each)} is not one of ${features.join(", ")}`);
    }
  }
  if (options.only?.length === 0) faults.push("only: must name at least one rule");
  for (const each of options.only ?? []) {
    if (!isRule(each)) faults.push(`only: ${JSON.stringify(each)} is not a rule that this kit knows`);
  }
  if (options.serveKeys !== undefined && keys === undefined) {
    faults.push("serve-keys: requires keys.algorithm");
  }
  if (!["full", "reduced"].includes(all.profile)) {
    faults.push(`profile: ${JSON.stringify(all.profile)} is neither full nor reduced`);
  }
  if (options.tenancy !== undefined && tenancy.sources.includes("subdomain") && tenancy.baseDomain === "") {
    faults.push("tenancy.base_domain: is required for the source subdomain");
  }
  if (tenancy.tenants.length < 2) faults.push("tenancy.tenants: must have at least two entries");
  faults.push(...amountFaults(options));
  const graceSeconds = probes.session?.graceSeconds ?? 0;
  if (graceSeconds > 0 && graceSeconds + 2 > all.totalSeconds) {
    faults.push(
      `probes.session.graceSeconds: a window of ${graceSeconds} s does not fit into the ${all.totalSeconds} s of totalSeconds`,
    );
  }
  if (faults.length > 0 || url === undefined) throw new InvalidUse(faults);

  const { tenants } = tenancy;
  return {
    ...all,
    url,
    replica,
    features: new Set(declared),
    keys,
    claims: keys ?? resolved("keys", { algorithm: "HS256" }),
    probes,
    tenancy,
    limits: resolved("limits", options.limits ?? {}),
    tokenTenant: keys?.tenant ?? (declared.includes("tenancy") ? tenants[0] : undefined),
    only: options.only && new Set(options.only),
  };
}

import { isObject } from "./answer.ts";
import { amountFaults } from "./amounts.ts";
import { InvalidUse } from "./faults.ts";
import { type ConformanceOptions, features as knownFeatures, type Probes } from "./options.ts";
import { isRule } from "./rules.ts";
import { resolveSession, sessionFaults } from "./session-settings.ts";
import type { ResolvedProbes, Settings } from "./settings.ts";

/** The names of all options; the type ensures that the list is complete. */
const optionNames: Readonly<Record<keyof ConformanceOptions, true>> = {
  url: true,
  replica: true,
  profile: true,
  features: true,
  keys: true,
  probes: true,
  tenancy: true,
  limits: true,
  house: true,
  only: true,
  require: true,
  maxNotApplicable: true,
  serveKeys: true,
  log: true,
  requestSeconds: true,
  checkSeconds: true,
  totalSeconds: true,
  keySetPatienceSeconds: true,
  concurrency: true,
};

const probeNames: Readonly<Record<keyof Probes, true>> = {
  open: true,
  protected: true,
  scoped: true,
  role: true,
  mixed: true,
  tenant: true,
  requestedTenant: true,
  failing: true,
  json: true,
  invalid: true,
  templated: true,
  html: true,
  outbound: true,
  slow: true,
  streaming: true,
  dependencies: true,
  session: true,
  federated: true,
};

function resolveProbes({ tenant, failing, session, ...probes }: Probes): ResolvedProbes {
  return {
    ...probes,
    // A route that requires rights also rejects bad tokens.
    protected: probes.protected ?? probes.scoped?.request,
    tenant: typeof tenant === "string" ? { request: tenant } : tenant,
    failing: typeof failing === "string" ? { request: failing } : failing,
    session: session && resolveSession(session, probes.protected ?? probes.scoped?.request),
  };
}

/** Returns the faults in the requests of the probes. */
function probeFaults(probes: ResolvedProbes): string[] {
  const { open, protected: inner, mixed, requestedTenant, json, html, outbound, slow, streaming } = probes;
  const requests: Readonly<Record<string, unknown>> = {
    open,
    protected: inner,
    mixed,
    requestedTenant,
    json,
    html,
    outbound,
    slow,
    streaming,
  };
  const faults = Object.entries(requests).flatMap(([name, probe]) =>
    probe === undefined || isProbe(probe) ? [] : [`probes.${name}: is neither "/path" nor { path }`],
  );
  for (const name of ["scoped", "role", "tenant", "failing", "invalid", "templated"] as const) {
    const probe: unknown = probes[name];
    if (probe === undefined || (isObject(probe) && isProbe(probe["request"]))) continue;
    faults.push(`probes.${name}: needs request: "/path" or { path }`);
  }
  for (const [name, list] of [
    ["scoped.scopes", probes.scoped && (probes.scoped.scopes as unknown)],
    ["role.roles", probes.role && (probes.role.roles as unknown)],
  ] as const) {
    const isAsked = name === "scoped.scopes" ? probes.scoped !== undefined : probes.role !== undefined;
    const isList = Array.isArray(list) && list.length > 0 && list.every((each) => typeof each === "string");
    if (isAsked && !isList) faults.push(`probes.${name}: must be a list of texts`);
  }
  for (const each of probes.dependencies ?? []) {
    const isWhole = typeof each.check === "string" && typeof each.critical === "boolean";
    if (isWhole && isProbe(each.break) && isProbe(each.restore)) continue;
    faults.push("probes.dependencies: each needs check, critical, break and restore");
  }
  return faults;
}

function isProbe(value: unknown): boolean {
  const path = isObject(value) ? value["path"] : value;
  return typeof path === "string" && /^(?:[A-Z]+ )?(?:\/|https?:)/.test(path);
}

function unknownIn(what: string, given: object | undefined, known: object): string[] {
  return Object.keys(given ?? {})
    .filter((name) => !Object.hasOwn(known, name))
    .map((name) => `${what}${name}: is unknown; known are ${Object.keys(known).join(", ")}`);
}

function baseUrl(name: string, given: string, faults: string[]): URL | null {
  const url = URL.parse(given);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    const shown = given.replace(/\/\/[^/@]*@/, "//***@");
    faults.push(`${name}: ${JSON.stringify(shown)} is not an http or https URL`);
  }
  if (url !== null && (url.username !== "" || url.password !== "")) {
    faults.push(`${name}: must not hold a user or a password`);
  }
  return url;
}

/** @throws InvalidUse that lists every fault */
export function resolveSettings(options: ConformanceOptions): Settings {
  const faults: string[] = [
    ...unknownIn("", options, optionNames),
    ...unknownIn("probes.", options.probes, probeNames),
  ];
  const probes = resolveProbes(options.probes ?? {});
  faults.push(...probeFaults(probes));
  faults.push(...sessionFaults(options.probes?.session, options.probes?.federated, isProbe));
  const url = baseUrl("url", options.url, faults);
  const replica = options.replica === undefined ? null : baseUrl("replica", options.replica, faults);
  const given = options.features ?? [
    "metrics",
    "security_headers",
    ...(options.keys === undefined && probes.session === undefined ? [] : (["auth"] as const)),
    ...(options.tenancy === undefined ? [] : (["tenancy"] as const)),
  ];
  for (const each of given) {
    if (!knownFeatures.includes(each)) {
      faults.push(`features: ${JSON.stringify(each)} is none of ${knownFeatures.join(", ")}`);
    }
  }
  for (const each of options.only ?? []) {
    if (!isRule(each)) faults.push(`only: ${JSON.stringify(each)} is not a rule that this kit knows`);
  }
  if (options.serveKeys !== undefined && options.keys === undefined) {
    faults.push("serve-keys: needs keys with at least the algorithm");
  }
  if (options.profile !== undefined && !["full", "reduced"].includes(options.profile)) {
    faults.push(`profile: ${JSON.stringify(options.profile)} is neither full nor reduced`);
  }
  const sources = options.tenancy?.sources ?? ["token", "subdomain"];
  if (options.tenancy !== undefined && sources.includes("subdomain") && !options.tenancy.baseDomain) {
    faults.push("tenancy.base_domain: is needed for the source subdomain");
  }
  const tenants = options.tenancy?.tenants ?? ["acme", "globex"];
  if (tenants.length < 2) faults.push("tenancy.tenants: are two at least");
  for (const name of ["requestSeconds", "checkSeconds", "totalSeconds", "concurrency"] as const) {
    const value = options[name];
    if (value !== undefined && !(value > 0)) faults.push(`${name}: is a number above 0`);
  }
  faults.push(...amountFaults(options));
  const graceSeconds = probes.session?.graceSeconds ?? 0;
  const totalSeconds = options.totalSeconds ?? 300;
  if (graceSeconds > 0 && graceSeconds + 2 > totalSeconds) {
    faults.push(
      `probes.session.graceSeconds: a window of ${graceSeconds} s does not fit into the ${totalSeconds} s for everything`,
    );
  }
  if (faults.length > 0 || url === null) throw new InvalidUse(faults);

  const features = new Set(given);
  return {
    url,
    replica: replica ?? undefined,
    profile: options.profile ?? "full",
    features,
    keys: options.keys,
    probes,
    tenancy: {
      sources,
      baseDomain: options.tenancy?.baseDomain ?? "",
      pathPrefix: options.tenancy?.pathPrefix ?? "/t",
      requireTenant: options.tenancy?.requireTenant ?? false,
      trustUnscopedPrincipals: options.tenancy?.trustUnscopedPrincipals ?? false,
      tenants,
    },
    limits: {
      maxBodyBytes: options.limits?.maxBodyBytes ?? 2_097_152,
      requestTimeoutSeconds: options.limits?.requestTimeoutSeconds ?? 30,
      readinessTimeoutSeconds: options.limits?.readinessTimeoutSeconds ?? 2,
    },
    tokenTenant: options.keys?.tenant ?? (features.has("tenancy") ? tenants[0] : undefined),
    house: options.house ?? false,
    only: options.only === undefined ? undefined : new Set(options.only),
    require: options.require ?? [],
    maxNotApplicable: options.maxNotApplicable,
    serveKeys: options.serveKeys,
    log: options.log,
    requestSeconds: options.requestSeconds ?? 10,
    checkSeconds: options.checkSeconds ?? 60,
    totalSeconds,
    keySetPatienceSeconds: options.keySetPatienceSeconds ?? 65,
    concurrency: options.concurrency ?? 8,
  };
}

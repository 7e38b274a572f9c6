import type { Controls } from "../harness/controls.ts";
import type { Case } from "../harness/subject.ts";
import type { Place } from "./stores.ts";
import type { Verifying } from "./subjects/verifications.ts";

/** The addresses of the servers of a run. */
export interface Servers {
  readonly redis: { readonly url: string; readonly keyPrefix: string };
  readonly postgres: { readonly url: string };
}

/** Cases that run side by side. */
export interface Group {
  /** The name of the metric per second; undefined if it is not reported. */
  readonly perSecond: "pairs_per_s" | "refreshes_per_s" | "verifications_per_s" | undefined;
  readonly cases: readonly Case[];
  /** The control, which repeats the first case. */
  readonly controls: Controls;
  /** A case, the case with which it is compared, and the maximum cost that it may add, in microseconds. */
  readonly added?: { readonly to: string; readonly case: string; readonly boundUs: number } | undefined;
}

export const CHECK_BOUND_US = 15;

/** The names of the cases of all groups, for error messages. */
export const caseNames: readonly string[] = [
  "hs256",
  "rs256",
  "es256",
  "eddsa",
  "memory",
  "redis",
  "postgres",
  "redis-check",
  "ioredis-check",
  "no-check",
  "verify-hs256",
  "verify-hs256-fast-jwt",
  "verify-hs256-cached",
  "verify-hs256-fast-jwt-cached",
  "verify-rs256",
  "verify-rs256-fast-jwt",
  "verify-rs256-cached",
  "verify-rs256-fast-jwt-cached",
];

export function groupsOf({ redis, postgres }: Servers): readonly Group[] {
  const inRedis = { store: "redis", ...redis } as const;
  return [
    {
      perSecond: "pairs_per_s",
      cases: [
        pairs("hs256", "HS256"),
        pairs("rs256", "RS256"),
        pairs("es256", "ES256"),
        pairs("eddsa", "EdDSA"),
        pairs("control-hs256", "HS256"),
      ],
      controls: { base: "hs256", names: ["control-hs256"] },
    },
    {
      perSecond: "refreshes_per_s",
      cases: [
        at("memory", "refreshes", { store: "memory" }),
        at("redis", "refreshes", inRedis),
        at("postgres", "refreshes", { store: "postgres", ...postgres }),
        at("control-memory", "refreshes", { store: "memory" }),
      ],
      controls: { base: "memory", names: ["control-memory"] },
    },
    {
      perSecond: undefined,
      cases: [
        at("redis-check", "checks", inRedis),
        at("ioredis-check", "checks", { ...inRedis, store: "ioredis" }),
        at("no-check", "checks", { store: "none" }),
        at("control-redis-check", "checks", inRedis),
      ],
      controls: { base: "redis-check", names: ["control-redis-check"] },
      added: { case: "redis-check", to: "no-check", boundUs: CHECK_BOUND_US },
    },
    verifications("hs256", "HS256"),
    verifications("rs256", "RS256"),
  ];
}

/** Returns a group that compares our verifier with fast-jwt, both without and with a cache of verified tokens. */
function verifications(name: string, algorithm: Verifying["algorithm"]): Group {
  const of = (suffix: string, by: Verifying["by"], isCached: boolean): Case => ({
    name: `verify-${name}${suffix}`,
    module: moduleOf("verifications"),
    setting: JSON.stringify({ by, algorithm, isCached } satisfies Verifying),
  });
  return {
    perSecond: "verifications_per_s",
    cases: [
      of("", "svc", false),
      of("-fast-jwt", "fast-jwt", false),
      of("-cached", "svc", true),
      of("-fast-jwt-cached", "fast-jwt", true),
      { ...of("", "svc", false), name: `control-verify-${name}` },
    ],
    controls: { base: `verify-${name}`, names: [`control-verify-${name}`] },
  };
}

/**
 * Returns the groups with only these cases, and the cases with which they are compared.
 *
 * @throws Error that lists the known cases
 */
export function chosen(groups: readonly Group[], names: readonly string[] | undefined): readonly Group[] {
  if (names === undefined) return groups;
  const unknown = names.filter((name) => !caseNames.includes(name));
  if (unknown.length > 0) {
    throw new Error(`there is no case ${unknown.join(", ")}; there are ${caseNames.join(", ")}`);
  }
  return groups
    .filter(({ cases }) => cases.some(({ name }) => names.includes(name)))
    .map((group) => {
      const always = [group.controls.base, ...group.controls.names, group.added?.to];
      return {
        ...group,
        cases: group.cases.filter(({ name }) => always.includes(name) || names.includes(name)),
      };
    });
}

/** Returns whether a case of these groups needs the given server. */
export function uses(groups: readonly Group[], server: "redis" | "postgres"): boolean {
  const cases = groups.flatMap((group) => group.cases);
  return cases.some(({ setting = "" }) => setting.includes(`"store":"${server}"`));
}

function pairs(name: string, algorithm: string): Case {
  return { name, module: moduleOf("pairs"), setting: algorithm };
}

function at(name: string, subject: "refreshes" | "checks", place: Place): Case {
  return { name, module: moduleOf(subject), setting: JSON.stringify(place) };
}

function moduleOf(subject: string): URL {
  return new URL(`./subjects/${subject}.ts`, import.meta.url);
}

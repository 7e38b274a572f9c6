import type { Check, Need } from "./check.ts";
import type { Finding } from "./conformance-report.ts";
import type { Kit } from "./kit.ts";
import type { Probes } from "./options.ts";

/** Returns why a precondition of a check is not met; undefined when it is met. */
export function missing(kit: Kit, need: Need): string | undefined {
  const { settings } = kit;
  switch (need) {
    case "full":
    case "reduced":
      return settings.profile === need ? undefined : `the profile is ${settings.profile}`;
    case "keys":
      return settings.keys === undefined ? "no keys were given" : undefined;
    case "log":
      return kit.log === undefined ? "no log was given" : undefined;
    case "key set":
      return kit.keySet === undefined ? "the kit does not serve the key set" : undefined;
    case "otlp":
      return kit.otlp === undefined ? "the kit does not receive the service's spans" : undefined;
    case "upstream":
      return kit.upstream === undefined
        ? "the kit does not serve as the service behind the gateway"
        : undefined;
    case "auth":
    case "tenancy":
    case "metrics":
    case "telemetry":
    case "gateway":
    case "openapi":
    case "rate_limit":
    case "security_headers":
      return kit.has(need) ? undefined : `the feature ${need} is not declared`;
    case "replica":
      return kit.replica === undefined ? "no second replica was given" : undefined;
    case "session:hook":
    case "session:store":
    case "session:rotation": {
      const part = need.slice("session:".length) as "hook" | "store" | "rotation";
      return settings.probes.session?.[part] === undefined ? `\`session.${part}\` is not set` : undefined;
    }
    default: {
      const name = need.slice("probe:".length) as keyof Probes;
      return settings.probes[name] === undefined ? `no probe \`${nameOf(need)}\` was given` : undefined;
    }
  }
}

/** Returns the name of a precondition for `--require`; undefined for the profile, which has its own option. */
export function nameOf(need: Need): string | undefined {
  if (need === "full" || need === "reduced") return undefined;
  return need
    .slice(need.indexOf(":") + 1)
    .replace(" ", "_")
    .replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Returns the names that `--require` accepts: all preconditions of the checks, and `openapi`. */
export function requirable(checks: readonly Check[]): readonly string[] {
  const names = checks.flatMap(({ needs = [] }) => needs.map(nameOf));
  return [...new Set([...names, openapi])].filter((name) => name !== undefined).toSorted();
}

/** The name for `--require` that stands for the routes of `/openapi.json`. */
export const openapi = "openapi";

/** Returns the names of the preconditions of all rules that passed or failed. */
export function seenIn(
  findings: readonly Finding[],
  checks: readonly Check[],
  routes: number,
): ReadonlySet<string> {
  const judged = new Set(
    findings.filter(({ verdict }) => verdict.status !== "not applicable").map(({ id }) => id),
  );
  const needs = checks.filter(({ rule }) => judged.has(rule)).flatMap((check) => check.needs ?? []);
  const names = new Set(needs.map(nameOf).filter((name) => name !== undefined));
  return routes > 0 ? names.add(openapi) : names;
}

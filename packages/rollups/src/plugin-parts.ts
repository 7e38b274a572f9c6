import { ConfigurationError, type Fault, namesOf, optionError } from "@svc/options";
import type { PluginContext, PluginParts } from "@svc/plugin";
import { remember, withDeadline } from "@svc/resilience";
import type { Database } from "@svc/sql";
import { bindRollup, type BoundRollup } from "./bound-rollup.ts";
import { type NamedRollup, resolveRollups } from "./named-rollups.ts";
import type { RollupDraft, RollupsMembers, RollupsSettings } from "./plugin-options.ts";
import { rollupsReadiness } from "./readiness.ts";
import { createRollupTables } from "./rollup-tables.ts";
import { defineRollup, definitionOf, type Rollup } from "./rollup.ts";
import { createVerifier, type Verifier, type VerifierQueue, VERIFY_TASK } from "./verifier.ts";
import { isZone, ZONE_EXPECTED } from "./zone.ts";

/** The metric from `@svc/metrics`, on which this package must not depend; `@svc/express` provides it as part `rollupTools`. */
export interface RollupTools {
  /**
   * Adds a gauge of the buckets that differ, by rollup.
   *
   * @param drift returns the number of buckets for each rollup; called at each scrape
   */
  driftMetric(drift: () => Promise<Readonly<Record<string, number>>>): Promise<void>;
}

// A scrape must not wait for a database that does not respond.
const SCRAPE_MS = 1000;

/** Defines the rollups that are passed as options. @throws ConfigurationError */
export function resolveServiceRollups(options: RollupsSettings): readonly NamedRollup[] {
  const { rollups, zone } = options;
  if (!isZone(zone)) {
    const message = `must be ${ZONE_EXPECTED}; it is ${JSON.stringify(zone.slice(0, 80))}`;
    throw optionError(namesOf(options, "[plugin.rollups]"), "zone", message);
  }
  const faults: Fault[] = [];
  const attempt = <T>(prefix: string, work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      faults.push(...error.faults.map(({ key, message }) => ({ key: `${prefix}${key}`, message })));
      return undefined;
    }
  };
  const defined = Object.entries(rollups).flatMap(([name, given]): readonly [string, Rollup][] => {
    if (definitionOf(given) !== undefined || !isDraft(given)) return [[name, given as Rollup]];
    const draft = { ...given, name: given.name ?? name, timeZone: given.timeZone ?? zone };
    const rollup = attempt(`rollups.${name}.`, () => defineRollup(draft));
    return rollup === undefined ? [] : [[name, rollup]];
  });
  const named = attempt("", () => resolveRollups("createService()", "rollups", Object.fromEntries(defined)));
  if (named === undefined || faults.length > 0) throw new ConfigurationError("createService()", faults);
  return named;
}

// A rollup from another copy of this package has methods, and the check above rejects it.
function isDraft(given: Rollup | RollupDraft): given is RollupDraft {
  return typeof given === "object" && given !== null && !("refresh" in given);
}

/** Returns what the plugin adds to a service. */
export async function rollupParts(
  { options, logger, part }: PluginContext<RollupsSettings>,
  named: readonly NamedRollup[],
  db: Database,
  jobs: VerifierQueue | undefined,
): Promise<PluginParts<RollupsMembers>> {
  const { refresh, verifyEverySeconds, verifyMonths: months, repair } = options;
  const rollups = Object.fromEntries(named.map(({ name, rollup }) => [name, rollup]));
  const verifier =
    jobs === undefined || verifyEverySeconds === 0
      ? undefined
      : createVerifier({ rollups, db, jobs, months, repair, logger });
  const isVerified = verifier !== undefined;
  const tables = createRollupTables({ rollups: named, db, isVerified, logger });
  const tools = part<RollupTools>("rollupTools");
  if (verifier !== undefined) await tools?.driftMetric(driftOf(verifier));
  const bound = named.map(({ name, rollup }) => {
    const each = bindRollup(rollup, { db, jobs, refresh });
    return [name, jobs === undefined ? withoutQueue(name, each) : each] as const;
  });
  const schedule = { everySeconds: verifyEverySeconds, task: VERIFY_TASK };
  const handlers = Object.assign({}, ...named.map(({ rollup }) => rollup.handlers(db)), verifier?.handlers);
  return {
    parts: { rollups: Object.fromEntries(bound) },
    schemas: named.map((each) => ({ key: `rollups.${each.name}`, ensureSchema: () => tables.ensure(each) })),
    checks: [rollupsReadiness({ rollups: named, db, faultOf: tables.faultOf, isVerified })],
    handlers: jobs === undefined ? {} : handlers,
    schedules: verifier && { [VERIFY_TASK]: schedule },
    work: [{ name: "rollups", start: () => tables.start(), stop: () => tables.stop() }],
    info: { rollups: named.map(infoOf), refresh, verify_every: verifyEverySeconds, repair },
  };
}

/** Returns the rollup of a service without the plugin `queue`. */
function withoutQueue(name: string, rollup: BoundRollup): BoundRollup {
  const refuse = async (): Promise<never> => {
    const message = "refreshLater() needs the plugin queue: enable it";
    throw new ConfigurationError("the service", [{ key: `rollups.${name}`, message }]);
  };
  return { ...rollup, refreshLater: refuse, refreshLaterMany: refuse };
}

function infoOf({ name, definition }: NamedRollup) {
  const { givenTable: table, zone, groups, measures } = definition;
  const nameOf = (each: { readonly name: string }): string => each.name;
  return { name, table, zone, groups: groups.map(nameOf), measures: measures.map(nameOf) };
}

/** Returns a function that reads, at most once per second, how many buckets differed in the last round of each rollup. */
function driftOf(verifier: Verifier): () => Promise<Readonly<Record<string, number>>> {
  const read = remember(1000, () => verifier.verifications());
  return async () => {
    const found = Object.entries(await withDeadline(SCRAPE_MS, () => read()));
    return Object.fromEntries(
      found.flatMap(([name, each]) => (each === undefined ? [] : [[name, each.findings.buckets]])),
    );
  };
}

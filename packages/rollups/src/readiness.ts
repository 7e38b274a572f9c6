import type { CheckResult, ReadinessCheck } from "@svc/context";
import { singleFlight } from "@svc/resilience";
import { type Database, qualified, type Queryable, safeErrorText, sqlStateOf } from "@svc/sql";
import { command, onConnection } from "./connection.ts";
import type { Definition } from "./definition.ts";
import type { NamedRollup } from "./named-rollups.ts";
import { ownName, sharedTables } from "./sql/pieces.ts";
import { type Findings, readRounds, type Rounds, type Verification } from "./verifications.ts";

/** The parts of the plugin that the check reads. */
export interface RollupsState {
  readonly rollups: readonly NamedRollup[];
  readonly db: Database;
  /** Returns the reason why a rollup has no tables; undefined if it has them. */
  readonly faultOf: (name: string) => string | undefined;
  /** Whether jobs verify the rollups. */
  readonly isVerified: boolean;
}

interface Report {
  readonly note: string | undefined;
  readonly verification: Verification | undefined;
}

const MAX_NOTES = 5;

/** Returns the readiness check `rollups`, which is never critical. */
export function rollupsReadiness(state: RollupsState): ReadinessCheck {
  // Checks share a pending query, so that timed-out checks do not pile up statements.
  const look = singleFlight(() => check(state));
  return { name: "rollups", critical: false, check: () => look() };
}

async function check({ rollups, db, faultOf, isVerified }: RollupsState): Promise<CheckResult> {
  const notes: string[] = [];
  const verifications: Record<string, Verification | undefined> = {};
  for (const { name, definition } of rollups) {
    const unmade = faultOf(name);
    const { note, verification } =
      unmade === undefined
        ? await reportOn(db, definition, isVerified)
        : { note: unmade, verification: undefined };
    if (note !== undefined) notes.push(`rollup ${name}: ${note}`);
    verifications[name] = verification;
  }
  const more = notes.length - MAX_NOTES;
  const shown = more > 0 ? [...notes.slice(0, MAX_NOTES), `and ${more} more`] : notes;
  const detail = [
    ...(notes.length === 0 ? [`${rollups.length} rollup(s)`] : shown),
    ...(isVerified ? [ageNote(verifications)] : []),
  ];
  return { healthy: notes.length === 0, detail: detail.join("; "), meta: metaOf(verifications) };
}

async function reportOn(db: Database, definition: Definition, isVerified: boolean): Promise<Report> {
  try {
    return await onConnection(db, command(definition, "readiness()"), async (connection) => {
      const rounds = isVerified ? await readRounds(connection, definition) : undefined;
      const note = (await tableNote(connection, definition)) ?? roundsNote(rounds);
      return { note, verification: rounds?.last };
    });
  } catch (error) {
    const isMissing = sqlStateOf(error) === "42P01";
    const note = isMissing
      ? "its tables are missing"
      : `the database does not answer (${safeErrorText(error)})`;
    return { note, verification: undefined };
  }
}

async function tableNote(connection: Queryable, definition: Definition): Promise<string | undefined> {
  const { table, givenTable, zone } = definition;
  const zones = qualified(sharedTables(definition).zones);
  const { rows } = await connection.query<{ present: boolean; zone: string | null }>(
    `select to_regclass($1) is not null as present, (select zone from ${zones} where rollup = $2) as zone`,
    [table, ownName(definition)],
  );
  const [found] = rows;
  if (found?.present !== true) return `the table ${givenTable} is missing`;
  if (found.zone?.toLowerCase() === zone.toLowerCase()) return undefined;
  return `its totals use months in ${found.zone}, not in ${zone}, so it refuses to answer: call rebuildAll() once`;
}

function roundsNote(rounds: Rounds | undefined): string | undefined {
  if (rounds === undefined) return undefined;
  const { last, stalledSeconds } = rounds;
  const notes = last === undefined ? [] : findingsNotes(last.findings);
  if (stalledSeconds !== undefined) {
    const time = Math.round(stalledSeconds / 60);
    notes.push(
      `its verification has not moved for ${time} min: see its jobs of the task rollups:verify-tenants`,
    );
  }
  return notes.length === 0 ? undefined : notes.join(", ");
}

function findingsNotes(findings: Findings): string[] {
  const { error, buckets, differing, repaired, unrepaired, failed, failures } = findings;
  const notes: string[] = [];
  if (error !== undefined) notes.push(`it cannot be verified: ${error}`);
  if (buckets !== repaired) {
    const rest = repaired === 0 ? "" : `, ${repaired} of them were repaired`;
    const reason = unrepaired === undefined ? "" : ` (${unrepaired})`;
    notes.push(`${buckets} bucket(s) of ${differing} tenant(s) differ from their rows${rest}${reason}`);
  }
  if (failed > 0) notes.push(`${failed} tenant(s) could not be compared (${failures[0]?.reason})`);
  return notes;
}

/** Returns how long ago the rollup with the oldest verification was verified. */
function ageNote(verifications: Readonly<Record<string, Verification | undefined>>): string {
  const ages = Object.values(verifications).map((each) => each?.ageSeconds);
  const known = ages.filter((age) => age !== undefined);
  const missing = ages.length - known.length;
  if (known.length === 0) return "not verified yet";
  const rest = missing === 0 ? "" : `, ${missing} not verified yet`;
  return `last verified ${Math.round(Math.max(...known))} s ago${rest}`;
}

function metaOf(verifications: Readonly<Record<string, Verification | undefined>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(verifications).flatMap(([name, each]) => {
      if (each === undefined) return [];
      const { tenants, buckets, repaired, failed } = each.findings;
      return [[name, { verified_s_ago: Math.round(each.ageSeconds), tenants, buckets, repaired, failed }]];
    }),
  );
}

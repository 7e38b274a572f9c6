import type { CheckResult, ReadinessCheck } from "@svc/context";
import { singleFlight } from "@svc/resilience";
import { type Database, qualified, type Queryable, safeErrorText, sqlStateOf } from "@svc/sql";
import { command, onConnection } from "./connection.ts";
import type { Definition } from "./definition.ts";
import type { NamedRollup } from "./named-rollups.ts";
import { ownName, sharedTables } from "./sql/pieces.ts";
import { type Findings, lastVerification, type Verification } from "./verifications.ts";

/** What the check reports. */
export interface RollupsState {
  readonly rollups: readonly NamedRollup[];
  readonly db: Database;
  /** Returns why a rollup has no tables; undefined if it has. */
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
      const verification = isVerified ? await lastVerification(connection, definition) : undefined;
      const note = (await tableNote(connection, definition)) ?? findingsNote(verification?.findings);
      return { note, verification };
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

function findingsNote(findings: Findings | undefined): string | undefined {
  if (findings === undefined) return undefined;
  const { error, buckets, differing, repaired } = findings;
  if (error !== undefined) return `it cannot be verified: ${error}`;
  if (buckets === repaired) return undefined;
  const rest = repaired === 0 ? "" : `, ${repaired} of them were repaired`;
  return `${buckets} bucket(s) of ${differing} tenant(s) differ from their rows${rest}`;
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
      const { tenants, buckets, repaired } = each.findings;
      return [[name, { verified_s_ago: Math.round(each.ageSeconds), tenants, buckets, repaired }]];
    }),
  );
}

import { type Database, ensureSchema, qualified, type Queryable, type Row } from "@svc/sql";
import type { Definition } from "./definition.ts";
import { ownName } from "./sql/pieces.ts";
import type { FailedTenant, VerifiedTurn } from "./verify-next.ts";

/** The result of a verification of all tenants. */
export interface Findings {
  /** Number of tenants compared. */
  readonly tenants: number;
  /** Number of buckets that differed from their rows. */
  readonly buckets: number;
  /** Number of tenants with such buckets. */
  readonly differing: number;
  /** Number of these buckets that have been recomputed. */
  readonly repaired: number;
  /** The first of these buckets. */
  readonly examples: readonly { readonly tenant: string | null; readonly month: string }[];
  /** The reason why a bucket could not be recomputed; undefined if all were recomputed, or without `repair`. */
  readonly unrepaired?: string | undefined;
  /** Number of tenants that could not be compared. */
  readonly failed: number;
  /** The first of these tenants. */
  readonly failures: readonly FailedTenant[];
  /** The reason why the verification ended early; undefined if it did not. */
  readonly error?: string | undefined;
}

/** The last complete verification of a rollup. */
export interface Verification {
  readonly findings: Findings;
  /** Seconds since its end. */
  readonly ageSeconds: number;
  /** The tick that started it, ISO 8601. */
  readonly round: string;
}

export const NOTHING_FOUND: Findings = {
  tenants: 0,
  buckets: 0,
  differing: 0,
  repaired: 0,
  examples: [],
  failed: 0,
  failures: [],
};

const MAX_EXAMPLES = 20;
// A round without progress for this long is dead, for example because its job is dead.
const STALLED = "15 minutes";
const UNENDED =
  "the verification before this one did not end: see its jobs of the task rollups:verify-tenants";

/** Returns the name of the table with the verifications of all rollups of a schema. */
export function verificationsTable({ givenTable }: Definition): string {
  return `${givenTable.slice(0, givenTable.lastIndexOf(".") + 1)}svc_rollup_verifications`;
}

/** Creates the table of verifications if it is missing. @throws SchemaError if an existing table differs */
export async function ensureVerifications(
  db: Database,
  definition: Definition,
): Promise<"present" | "created"> {
  const name = verificationsTable(definition);
  const { commandTimeoutMs, maintenanceTimeoutMs } = definition;
  return ensureSchema(db, {
    name: `rollups/${name}`,
    tables: {
      [name]: {
        rollup: ["text", "varchar"],
        round: "timestamp with time zone",
        turn: "integer",
        moved_at: "timestamp with time zone",
        running: "jsonb",
        found: "jsonb",
        found_in: "timestamp with time zone",
        found_at: "timestamp with time zone",
      },
    },
    statements: [
      `create table if not exists ${qualified(name)} (
  rollup text collate "C" primary key,
  round timestamptz not null,
  turn int not null,
  moved_at timestamptz not null,
  running jsonb,
  found jsonb,
  found_in timestamptz,
  found_at timestamptz
)`,
    ],
    commandTimeoutMs,
    maintenanceTimeoutMs,
  });
}

/**
 * Begins a round, unless one is running, or this round or a later one has begun. The findings of a dead round become the result
 * of the last round, with an error.
 *
 * @param round the tick of the schedule, ISO 8601
 */
export async function beginRound(tx: Queryable, definition: Definition, round: string): Promise<boolean> {
  const { rows } = await tx.query(
    `insert into ${qualified(verificationsTable(definition))} as kept (rollup, round, turn, moved_at, running)
values ($1, $2::timestamptz, 0, now(), $3::jsonb)
on conflict (rollup) do update set round = excluded.round, turn = 0, moved_at = now(), running = excluded.running,
  found = case when kept.running is null then kept.found else kept.running || $4::jsonb end,
  found_in = case when kept.running is null then kept.found_in else kept.round end,
  found_at = case when kept.running is null then kept.found_at else now() end
where kept.round < excluded.round and (kept.running is null or kept.moved_at < now() - interval '${STALLED}')
returning 1`,
    [ownName(definition), round, JSON.stringify(NOTHING_FOUND), JSON.stringify({ error: UNENDED })],
  );
  return rows.length > 0;
}

/** A turn of a round. */
export interface Turn {
  readonly round: string;
  /** Number of earlier turns. */
  readonly turn: number;
}

/**
 * Adds the result of a turn to its round, which ends with the last turn. A turn counts once, even if its job runs again.
 *
 * @returns the findings of the round so far; undefined if the turn was counted earlier or its round was abandoned
 */
export async function endTurn(
  tx: Queryable,
  definition: Definition,
  { round, turn }: Turn,
  { tenants, drift, failed, next }: VerifiedTurn,
  error?: string,
): Promise<Findings | undefined> {
  const table = qualified(verificationsTable(definition));
  const key = [ownName(definition), round, turn];
  const { rows } = await tx.query<{ running: Findings }>(
    `select running from ${table}
where rollup = $1 and round = $2::timestamptz and turn = $3::int and running is not null for update`,
    key,
  );
  const [before] = rows;
  if (before === undefined) return undefined;
  const running = { ...NOTHING_FOUND, ...before.running };
  const found: Findings = {
    tenants: running.tenants + tenants,
    buckets: running.buckets + drift.length,
    differing: running.differing + new Set(drift.map(({ tenant }) => tenant)).size,
    repaired: running.repaired + drift.filter(({ repaired }) => repaired).length,
    examples: [...running.examples, ...drift.map(({ tenant, month }) => ({ tenant, month }))].slice(
      0,
      MAX_EXAMPLES,
    ),
    unrepaired: running.unrepaired ?? drift.find(({ reason }) => reason !== undefined)?.reason,
    failed: running.failed + failed.length,
    failures: [...running.failures, ...failed].slice(0, MAX_EXAMPLES),
    error,
  };
  const text = JSON.stringify(found);
  if (next === undefined) {
    await tx.query(
      `update ${table} set turn = turn + 1, moved_at = now(), running = null, found = $2::jsonb, found_in = round, found_at = now()
where rollup = $1`,
      [key[0], text],
    );
  } else {
    await tx.query(
      `update ${table} set turn = turn + 1, moved_at = now(), running = $2::jsonb where rollup = $1`,
      [key[0], text],
    );
  }
  return found;
}

/** The rounds of a rollup. */
export interface Rounds {
  /** The last complete round; undefined before the first one. */
  readonly last: Verification | undefined;
  /** Seconds since the last progress of the running round, if the round is dead; otherwise undefined. */
  readonly stalledSeconds: number | undefined;
}

interface RoundsRow extends Row {
  readonly found: Findings | null;
  readonly age: number;
  readonly round: string;
  readonly stalled: number | null;
}

export async function readRounds(connection: Queryable, definition: Definition): Promise<Rounds> {
  const table = qualified(verificationsTable(definition));
  const { rows } = await connection.query<RoundsRow>(
    `select found, extract(epoch from now() - found_at)::float8 as age,
  to_char(found_in at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as round,
  case when running is not null and moved_at < now() - interval '${STALLED}'
    then extract(epoch from now() - moved_at)::float8 end as stalled
from ${table} where rollup = $1`,
    [ownName(definition)],
  );
  const [row] = rows;
  if (row === undefined) return { last: undefined, stalledSeconds: undefined };
  const { found, age, round, stalled } = row;
  const last =
    found === null ? undefined : { findings: { ...NOTHING_FOUND, ...found }, ageSeconds: age, round };
  return { last, stalledSeconds: stalled ?? undefined };
}

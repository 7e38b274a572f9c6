import type { TableAccess } from "@svc/job-table";
import { jobOf, type ResolvedSchedule } from "./schedule.ts";

/** What is known of the schedules at one moment. */
export interface Known {
  /** Milliseconds since the Unix epoch, by the server's clock. */
  readonly serverMs: number;
  /** For every schedule that was seen before, its newest tick. */
  readonly lastMs: ReadonlyMap<string, number>;
}

/** The table of ticks. Every call is one statement. */
export interface TickStore {
  read(names: readonly string[]): Promise<Known>;
  /** Notes that a schedule exists from a moment on: its first tick is the next one, whoever is alive then. */
  begin(name: string, ms: number): Promise<void>;
  /** Claims a tick and queues its job (SCH-4). Undefined: it is somebody else's, or older than one that was claimed. */
  fire(schedule: ResolvedSchedule, ms: number): Promise<{ readonly enqueued: boolean } | undefined>;
  /** Deletes ticks of before a moment, the newest of each schedule never. True when more are left. */
  prune(beforeMs: number): Promise<boolean>;
}

// One statement must not take the time that ticks need.
const PRUNED_AT_ONCE = 10_000;

export function createTickStore(ticks: string, access: TableAccess, claimant: string): TickStore {
  return {
    async read(names) {
      const rows = await access.query<{ name: string; last_ms: number | null; server_ms: number }>(
        `select wanted.name, date_part('epoch', statement_timestamp()) * 1000 as server_ms,
  (select date_part('epoch', max(fire_at)) * 1000 from ${ticks} as tick where tick.name = wanted.name) as last_ms
from unnest($1::text[]) as wanted (name)`,
        [names],
      );
      const lastMs = new Map<string, number>();
      // A moment in milliseconds is none as a fraction of seconds.
      for (const { name, last_ms: last } of rows) if (last !== null) lastMs.set(name, Math.round(last));
      return { serverMs: rows[0]?.server_ms ?? Number.NaN, lastMs };
    },

    async begin(name, ms) {
      await access.query(
        `insert into ${ticks} (name, fire_at, claimed_by, claimed_at)
select $1::text, $2::timestamptz, null, statement_timestamp()
where not exists (select from ${ticks} where name = $1::text)
on conflict do nothing`,
        [name, new Date(ms).toISOString()],
      );
    },

    async fire(schedule, ms) {
      const tick = new Date(ms).toISOString();
      const job = access.enqueuePart(jobOf(schedule, tick), { from: "claimed", first: 4 });
      const values: unknown[] = [schedule.name, tick, claimant, ...job.values];
      let told = "";
      if (access.channel !== undefined) {
        values.push(access.channel);
        told = `, case when exists(select from made) then pg_notify($${values.length}, '') end as told`;
      }
      const [row] = await access.query<{ claimed: boolean; enqueued: boolean }>(
        // The key alone would let a late process claim a tick again that was pruned.
        `with claimed as (
  insert into ${ticks} (name, fire_at, claimed_by, claimed_at)
  select $1::text, $2::timestamptz, $3::text, statement_timestamp()
  where not exists (select from ${ticks} where name = $1::text and fire_at >= $2::timestamptz)
  on conflict do nothing returning name
), made as (
  ${job.text}
)
select exists(select from claimed) as claimed, exists(select from made) as enqueued${told}`,
        values,
      );
      return row?.claimed === true ? { enqueued: row.enqueued } : undefined;
    },

    async prune(beforeMs) {
      const [row] = await access.query<{ gone: number }>(
        `with gone as (
  delete from ${ticks} where ctid = any(array(
    select old.ctid from ${ticks} as old
    where old.fire_at < $1::timestamptz
      and exists (select from ${ticks} as newer where newer.name = old.name and newer.fire_at > old.fire_at)
    limit ${PRUNED_AT_ONCE}
  )) returning name
) select count(*)::int as gone from gone`,
        [new Date(beforeMs).toISOString()],
      );
      return (row?.gone ?? 0) >= PRUNED_AT_ONCE;
    },
  };
}

import type { TableAccess } from "@svc/job-table";
import { type Row, sqlStateOf } from "@svc/sql";
import { jobOf, type ResolvedSchedule } from "./schedule.ts";

// The number of ticks that one statement deletes; it limits how long the statement delays due ticks.
const PRUNED_AT_ONCE = 10_000;
const SERIALIZATION_FAILURE = "40001";
const MAX_ATTEMPTS = 3;

export type TickStore = ReturnType<typeof createTickStore>;

/** Returns the operations on the table of ticks; each sends one statement. */
export function createTickStore(ticks: string, access: TableAccess, claimant: string) {
  /**
   * Sends a statement that claims a tick. If the server's default isolation level is `repeatable read` or
   * `serializable`, the statement fails when another scheduler claims the same tick; sent again, it sees that claim.
   */
  async function claiming<R extends Row>(text: string, values: unknown[]): Promise<R[]> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await access.query<R>(text, values);
      } catch (error) {
        if (attempt >= MAX_ATTEMPTS || sqlStateOf(error) !== SERIALIZATION_FAILURE) throw error;
      }
    }
  }

  return {
    async read(names: readonly string[]) {
      const rows = await access.query<{ name: string; last_ms: number | null; server_ms: number }>(
        `select wanted.name, date_part('epoch', statement_timestamp()) * 1000 as server_ms,
  (select date_part('epoch', max(fire_at)) * 1000 from ${ticks} as tick where tick.name = wanted.name) as last_ms
from unnest($1::text[]) as wanted (name)`,
        [names],
      );
      const lastMs = new Map<string, number>();
      // Round, because fractional epoch seconds do not represent milliseconds exactly.
      for (const { name, last_ms: last } of rows) if (last !== null) lastMs.set(name, Math.round(last));
      // The server's time in milliseconds since the Unix epoch, and the newest tick of each known schedule.
      return { serverMs: rows[0]?.server_ms ?? Number.NaN, lastMs };
    },

    /** Stores the start time of a new schedule; every scheduler then fires only ticks after that time. */
    async begin(name: string, ms: number): Promise<void> {
      await claiming(
        `insert into ${ticks} (name, fire_at, claimed_by, claimed_at)
select $1::text, $2::timestamptz, null, statement_timestamp()
where not exists (select from ${ticks} where name = $1::text)
on conflict do nothing`,
        [name, new Date(ms).toISOString()],
      );
    },

    /** Claims a tick and queues its job (SCH-4). Returns undefined if that tick or a newer one is already claimed. */
    async fire(schedule: ResolvedSchedule, ms: number): Promise<{ readonly enqueued: boolean } | undefined> {
      const tick = new Date(ms).toISOString();
      const job = access.enqueuePart(jobOf(schedule, tick), { from: "claimed", first: 4 });
      const values: unknown[] = [schedule.name, tick, claimant, ...job.values];
      let notify = "";
      if (access.channel !== undefined) {
        values.push(access.channel);
        notify = `, case when exists(select from made) then pg_notify($${values.length}, '') end as notified`;
      }
      const [row] = await claiming<{ claimed: boolean; enqueued: boolean }>(
        // The primary key alone would let a stalled process claim a tick again after it was pruned.
        `with claimed as (
  insert into ${ticks} (name, fire_at, claimed_by, claimed_at)
  select $1::text, $2::timestamptz, $3::text, statement_timestamp()
  where not exists (select from ${ticks} where name = $1::text and fire_at >= $2::timestamptz)
  on conflict do nothing returning name
), made as (
  ${job.text}
)
select exists(select from claimed) as claimed, exists(select from made) as enqueued${notify}`,
        values,
      );
      return row?.claimed === true ? { enqueued: row.enqueued } : undefined;
    },

    /** Deletes ticks before a given time, except the newest tick of each schedule. Returns whether more may remain. */
    async prune(beforeMs: number): Promise<boolean> {
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

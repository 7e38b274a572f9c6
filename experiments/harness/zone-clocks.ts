import type { Queryable } from "@svc/sql";

/** A zone's offset from UTC in seconds, valid from a moment in epoch seconds until the next change. */
export interface Clock {
  readonly from: number;
  readonly offset: number;
}

/** A half-open time span in epoch seconds: it includes `from` and excludes `to`. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

const STEP_SECONDS = 6 * 3600;

/**
 * Returns all changes of a zone's UTC offset, to the second, according to the server's time-zone data. Asks the server only to
 * convert moments to local times, which is unambiguous; the reverse is computed here.
 */
export async function clocksOf(db: Queryable, zone: string, from: string, to: string): Promise<Clock[]> {
  const local = (at: string): string => `(${at} at time zone $1) - (${at} at time zone 'UTC')`;
  const { rows } = await db.query<{ at: number; offset: number; later: number }>(
    `with steps as (
       select t, ${local("t")} as off
       from generate_series($2::timestamptz, $3::timestamptz, interval '${STEP_SECONDS} s') as t
     ), brackets as (
       select * from (
         select t, off, lag(t) over step as t0, lag(off) over step as off0 from steps window step as (order by t)
       ) as pairs where off0 is null or off <> off0
     ), changes as (
       select coalesce(second, t) as at, off
       from brackets
       left join lateral (
         select m from generate_series(t0 + interval '1 min', t, interval '1 min') as m where ${local("m")} <> off0
         order by m limit 1
       ) as minutes on t0 is not null
       left join lateral (
         select s as second from generate_series(m - interval '59 s', m, interval '1 s') as s
         where ${local("s")} <> off0 order by s limit 1
       ) as seconds on m is not null
     )
     select extract(epoch from at)::float8 as at, extract(epoch from ${local("at")})::int as "offset",
       extract(epoch from off)::int as later
     from changes order by at`,
    [zone, from, to],
  );
  for (const { offset, later, at } of rows) {
    if (offset !== later)
      throw new Error(`${zone}: its clocks change twice within ${STEP_SECONDS} s at ${at}`);
  }
  return rows.map(({ at, offset }) => ({ from: at, offset }));
}

/**
 * Returns the spans during which a zone's clocks show a time in [`from`, `to`): local times as epoch seconds, as if the
 * zone were UTC.
 */
export function momentsOf(clocks: readonly Clock[], { from, to }: Stretch): Stretch[] {
  const moments: Stretch[] = [];
  clocks.forEach(({ from: begins, offset }, n) => {
    const ends = clocks[n + 1]?.from ?? Number.POSITIVE_INFINITY;
    const stretch = { from: Math.max(begins, from - offset), to: Math.min(ends, to - offset) };
    if (stretch.from >= stretch.to) return;
    const last = moments.at(-1);
    if (last?.to === stretch.from) moments[moments.length - 1] = { from: last.from, to: stretch.to };
    else moments.push(stretch);
  });
  return moments;
}

import { openTestDatabase } from "@svc/dev-services";
import { ConfigurationError } from "@svc/options";
import { defineRollup, type Rollup } from "@svc/rollups";
import { withTransaction } from "@svc/sql";
import pg from "pg";
import { asBuilt, type Experiment, type Run } from "./harness/experiment.ts";
import type { Report } from "./harness/report.ts";
import { type Clock, clocksOf, momentsOf, type Stretch } from "./harness/zone-clocks.ts";

const YEARS = { from: 1990, to: 2037 } as const;
/** The zones of a short run: together they have at least one month of each kind. */
const QUICK_ZONES = ["UTC", "America/Havana", "America/St_Johns", "Asia/Amman", "Pacific/Apia"];
const CONNECTIONS = 2;

/** Checks every month of every zone, with the totals of rows at the boundaries of the months. */
export const rollupZones: Experiment = {
  name: "rollup-zones",
  description: "the months of all zones from 1990 to 2037 are the local ones and leave no gap",
  brokenVariants: ["broken-date-trunc"],
  async run(run, report) {
    await using database = await openTestDatabase({ name: "rollup-zones" });
    const pool = new pg.Pool({ connectionString: database.url, max: CONNECTIONS });
    pool.on("error", () => undefined);
    try {
      const zones = run.quick ? QUICK_ZONES : await allZones(pool);
      const left = [...zones];
      const seen: Seen[] = [];
      const refused: string[] = [];
      const work = async (n: number): Promise<void> => {
        const scene = await openScene(pool, n, run);
        for (let zone = left.shift(); zone !== undefined; zone = left.shift()) {
          if (isTaken(zone)) seen.push(await lookAt(scene, zone));
          else refused.push(zone);
        }
      };
      await Promise.all(Array.from({ length: CONNECTIONS }, (_, n) => work(n)));
      reportFigures(seen, refused, report);
    } finally {
      await pool.end();
    }
  },
};

async function allZones(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>("select name from pg_timezone_names order by name");
  return rows.map(({ name }) => name);
}

/** A table of moments, and the monthly totals computed from it. */
interface Scene {
  readonly pool: pg.Pool;
  readonly source: string;
  readonly totals: string;
  readonly made: Set<string>;
  readonly run: Run;
}

async function openScene(pool: pg.Pool, n: number, run: Run): Promise<Scene> {
  const source = `moments_${n}`;
  await pool.query(`create table ${source} (at timestamptz primary key)`);
  return { pool, source, totals: `months_${n}`, made: new Set(), run };
}

/** An expected month: from its first moment to the first moment of the next month. */
interface Month extends Stretch {
  /** For example `1990-01-01`. */
  readonly name: string;
  /**
   * Whether its first midnight occurs once, twice, never, or twice with a part of the previous month in between
   * (`torn`).
   */
  readonly start: "plain" | "twice" | "never" | "torn";
}

/** The results for one zone. */
interface Seen {
  readonly zone: string;
  readonly changes: number;
  readonly months: readonly Month[];
  /** Seconds, over all months, during which the clocks show the previous month again although the month has begun. */
  readonly strayed: number;
  /** Months with wrong totals after `rebuildAll()`, and after refreshes of single buckets. */
  readonly wrongRebuilt: readonly string[];
  readonly wrongRefreshed: readonly string[];
  readonly refreshes: number;
}

async function lookAt(scene: Scene, zone: string): Promise<Seen> {
  const { pool, source, run } = scene;
  const clocks = await clocksOf(
    pool,
    zone,
    `${YEARS.from - 1}-11-01T00:00:00Z`,
    `${YEARS.to + 1}-03-01T00:00:00Z`,
  );
  const months = monthsOf(clocks);
  const rollup = run.variant === asBuilt ? rollupOf(scene, zone) : undefined;
  if (rollup !== undefined && !scene.made.has(scene.totals)) await rollup.ensureSchema(pool);
  scene.made.add(scene.totals);
  // Insert each month's first moment and the microsecond before it: with a wrong boundary, a month would contain a
  // moment of its neighbour.
  await pool.query(`truncate ${source}`);
  await pool.query(
    `insert into ${source} (at)
     select timestamptz 'epoch' + s * interval '1 s' - before * interval '1 us'
     from unnest($1::float8[]) as s, (values (0), (1)) as b(before)`,
    [[...months.map(({ from }) => from), months.at(-1)?.to]],
  );
  // Add moments near unusual boundaries, which a wrong rule would put into another month.
  const odd = months.filter(({ start }) => start !== "plain");
  const moments = odd.flatMap(({ from }) =>
    [-5400, -3600, -1800, -60, 60, 1800, 3540, 3600, 5400].map((s) => from + s),
  );
  await pool.query(
    `insert into ${source} (at) select timestamptz 'epoch' + s * interval '1 s' from unnest($1::float8[]) as s
     on conflict do nothing`,
    [moments],
  );
  const expected = await expectedTotals(scene, months);
  await (rollup === undefined ? truncatedTotals(scene, zone) : rollup.rebuildAll(pool));
  const wrongRebuilt = differing(expected, await totalsOf(scene));
  const odds = run.quick || odd.length > 0 ? [...odd, ...months.slice(-1)] : [];
  let refreshes = 0;
  const wrongRefreshed: string[] = [];
  if (odds.length > 0 && rollup !== undefined) {
    const { rows } = await pool.query<{ at: string }>(
      `select to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at from ${source}
       where exists (select from unnest($1::float8[]) as s
         where at between timestamptz 'epoch' + (s - 7200) * interval '1 s' and timestamptz 'epoch' + (s + 7200) * interval '1 s')`,
      [odds.map(({ from }) => from)],
    );
    // Empty the totals before each refresh: a refresh at any moment of a month must restore that month's totals.
    for (const { at } of rows) {
      refreshes += 1;
      await pool.query(`truncate ${scene.totals}`);
      const month = monthAt(months, Date.parse(at) / 1000);
      await withTransaction(pool, (tx) => rollup.refresh(tx, { tenant: null, at }));
      const found = await totalsOf(scene);
      const want = new Map([...expected].filter(([name]) => name === month));
      if (month !== undefined && differing(want, found).length > 0) wrongRefreshed.push(`${month} at ${at}`);
    }
  }
  const strayed = months.reduce((sum, month) => sum + strayOf(clocks, month), 0);
  return { zone, changes: clocks.length - 1, months, strayed, wrongRebuilt, wrongRefreshed, refreshes };
}

function monthsOf(clocks: readonly Clock[]): readonly Month[] {
  const starts: { name: string; from: number; start: Month["start"] }[] = [];
  for (let n = 0; n <= 12 * (YEARS.to - YEARS.from + 1); n++) {
    const local = { from: localStart(n), to: localStart(n + 1) };
    const moments = momentsOf(clocks, local);
    const midnights = momentsOf(clocks, { from: local.from, to: local.from + 1 }).length;
    const [first] = moments;
    if (first === undefined) throw new Error("a month without a moment");
    const before = momentsOf(clocks, { from: localStart(n - 1), to: local.from });
    const start =
      (before.at(-1)?.to ?? 0) > first.from
        ? "torn"
        : midnights > 1
          ? "twice"
          : midnights === 0
            ? "never"
            : "plain";
    starts.push({ name: new Date(local.from * 1000).toISOString().slice(0, 10), from: first.from, start });
  }
  return starts.slice(0, -1).map((month, n) => ({ ...month, to: starts[n + 1]?.from ?? Number.NaN }));
}

function localStart(n: number): number {
  return Date.UTC(YEARS.from, n, 1) / 1000;
}

/** Returns the name of the month that contains a moment; undefined if none does. */
function monthAt(months: readonly Month[], at: number): string | undefined {
  return months.find(({ from, to }) => at >= from && at < to)?.name;
}

/** Returns the seconds after the start of a month during which the clocks show the previous month. */
function strayOf(clocks: readonly Clock[], month: Month): number {
  if (month.start !== "torn") return 0;
  const first = Date.parse(`${month.name}T00:00:00Z`) / 1000;
  const before = momentsOf(clocks, { from: first - 86_400, to: first });
  return before.reduce((sum, { from, to }) => sum + Math.max(0, to - Math.max(from, month.from)), 0);
}

function rollupOf({ source, totals }: Pick<Scene, "source" | "totals">, timeZone: string): Rollup {
  return defineRollup({
    name: totals,
    source: { table: source, tenantColumn: null, timeColumn: "at" },
    measures: {
      n: { sql: "count(*)", type: "bigint" },
      earliest: { sql: "min(at)", type: "timestamptz" },
      latest: { sql: "max(at)", type: "timestamptz" },
    },
    timeZone,
  });
}

/** By month: the number of rows, and their first and last moments. */
type Totals = ReadonlyMap<string, string>;

const EPOCH_US = (at: string): string => `(extract(epoch from ${at}) * 1000000)::bigint`;

/** Returns whether `defineRollup()` accepts a zone; it rejects names whose meaning depends on the place. */
function isTaken(zone: string): boolean {
  try {
    rollupOf({ source: "moments", totals: "months" }, zone);
    return true;
  } catch (error) {
    if (error instanceof ConfigurationError) return false;
    throw error;
  }
}

/** Computes totals by months that start where PostgreSQL puts the local midnight. */
async function truncatedTotals({ pool, source, totals }: Scene, zone: string): Promise<void> {
  await pool.query(
    `create table if not exists ${totals} (month date, n bigint, earliest timestamptz, latest timestamptz)`,
  );
  await pool.query(`truncate ${totals}`);
  await pool.query(
    `insert into ${totals}
     select m::date, count(*), min(at), max(at)
     from generate_series('${YEARS.from - 1}-11-01'::timestamp, '${YEARS.to + 1}-02-01', '1 month') as m
     join ${source} on at >= m at time zone $1 and at < (m + interval '1 month') at time zone $1
     group by m`,
    [zone],
  );
}

/** Returns the totals of each month, computed with its expected boundaries. */
async function expectedTotals({ pool, source }: Scene, months: readonly Month[]): Promise<Totals> {
  return readTotals(
    pool,
    `select name, count(*) as n, ${EPOCH_US("min(at)")} as earliest, ${EPOCH_US("max(at)")} as latest
     from ${source}, unnest($1::text[], $2::float8[], $3::float8[]) as m(name, lo, hi)
     where at >= timestamptz 'epoch' + lo * interval '1 s' and at < timestamptz 'epoch' + hi * interval '1 s'
     group by name`,
    [months.map(({ name }) => name), months.map(({ from }) => from), months.map(({ to }) => to)],
  );
}

async function totalsOf({ pool, totals }: Scene): Promise<Totals> {
  return readTotals(
    pool,
    `select month::text as name, n, ${EPOCH_US("earliest")} as earliest, ${EPOCH_US("latest")} as latest
     from ${totals} where month between '${YEARS.from}-01-01' and '${YEARS.to}-12-01'`,
  );
}

async function readTotals(pool: pg.Pool, text: string, values: unknown[] = []): Promise<Totals> {
  const { rows } = await pool.query<{ name: string; n: string; earliest: string; latest: string }>(
    text,
    values,
  );
  return new Map(rows.map(({ name, n, earliest, latest }) => [name, `${n} ${earliest} ${latest}`]));
}

function differing(expected: Totals, found: Totals): string[] {
  return [...new Set([...expected.keys(), ...found.keys()])].filter(
    (name) => expected.get(name) !== found.get(name),
  );
}

function reportFigures(seen: readonly Seen[], refused: readonly string[], report: Report): void {
  const months = seen.flatMap(({ zone, months }) => months.map((month) => ({ ...month, zone })));
  const having = (start: Month["start"]): string[] =>
    months.filter((month) => month.start === start).map(({ zone, name }) => `${zone} ${name.slice(0, 7)}`);
  const wrong = (of: "wrongRebuilt" | "wrongRefreshed"): string[] =>
    seen.flatMap((each) => each[of].map((month) => `${each.zone} ${month}`));
  const sum = (of: (each: Seen) => number): number => seen.reduce((all, each) => all + of(each), 0);
  const [rebuilt, refreshed] = [wrong("wrongRebuilt"), wrong("wrongRefreshed")];
  const [twice, torn, never] = [having("twice"), having("torn"), having("never")];
  const name = `${YEARS.from} to ${YEARS.to}`;
  report.figure(name, "zones", seen.length, "count");
  report.figure(name, "rejected zone names", refused.length, "count");
  report.figure(name, "zone-months", months.length, "count");
  report.figure(
    name,
    "clock changes",
    sum((each) => each.changes),
    "count",
  );
  report.figure(name, "months whose first midnight comes twice", twice.length + torn.length, "count");
  report.figure(name, "of them with a part of the month before in between", torn.length, "count");
  report.figure(name, "months without a first midnight", never.length, "count");
  report.figure(name, "wrong months, after a rebuild", rebuilt.length, "count");
  report.figure(
    name,
    "buckets refreshed",
    sum((each) => each.refreshes),
    "count",
  );
  report.figure(name, "wrong buckets, after a refresh", refreshed.length, "count");
  report.note(`twice: ${twice.join(", ")}`);
  report.note(
    `torn: ${torn.join(", ")}, ${sum((each) => each.strayed)} s belong to the month after the one of their local date`,
  );
  report.note(`rejected zone names: ${refused.join(", ")}`);
  const few = (all: readonly string[]): string =>
    all.length === 0 ? "" : `: ${all.slice(0, 12).join(", ")}`;
  report.rule(
    months.length > 0 && months.every(({ from, to }) => from < to),
    `every month starts before it ends, and ends where the next one starts`,
  );
  report.rule(
    rebuilt.length === 0,
    `every month has the moments from its start to the start of the next month (${rebuilt.length} do not${few(rebuilt)})`,
  );
  report.rule(
    refreshed.length === 0,
    `a refresh at any of these moments gives the same month (${refreshed.length} do not${few(refreshed)})`,
  );
  report.rule(
    twice.length + torn.length > 0 && never.length > 0,
    "the months include some with two first midnights and some with none",
  );
}

import { openTestDatabase } from "@svc/dev-services";
import type { Findings } from "@svc/rollups";
import { setTimeout as delay } from "node:timers/promises";
import { createRandom } from "./fuzz/random.ts";
import { asBuilt, type Experiment, type Run } from "./harness/experiment.ts";
import type { Report } from "./harness/report.ts";
import { changeByHand, wrongBuckets } from "./rollup-drift/by-hand.ts";
import { openReplicas, type Replicas } from "./rollup-drift/replicas.ts";

const ROUND_MS = 30_000;
// A round of a short run begins immediately. In a long run, the schedule of two replicas begins the rounds.
const NEVER = 86_400;

/** Changes rows and totals without the knowledge of two replicas that verify the totals. */
export const rollupDrift: Experiment = {
  name: "rollup-drift",
  description: "a verification finds every bucket that was changed by hand, and no other one",
  brokenVariants: ["broken-verify-of-one-month"],
  async run(run, report) {
    const seed = run.seed ?? Math.floor(Math.random() * 2 ** 31);
    report.note(`seed ${seed}`);
    for (const repair of run.variant === asBuilt ? [false, true] : [false]) {
      await using database = await openTestDatabase({ name: "rollup-drift" });
      const every = run.quick ? NEVER : 1;
      await using replicas = await openReplicas({
        url: database.url,
        variant: run.variant,
        repair,
        every,
        seed,
      });
      await runRounds(replicas, { run, seed, repair }, report);
    }
  },
};

interface Part {
  readonly run: Run;
  readonly seed: number;
  readonly repair: boolean;
}

interface Tally {
  rounds: number;
  unchanged: number;
  drifted: number;
  late: number;
  longestMs: number;
  readonly missed: string[];
  readonly invented: string[];
  readonly unrepaired: string[];
  readonly unsaid: string[];
}

async function runRounds(replicas: Replicas, { run, seed, repair }: Part, report: Report): Promise<void> {
  const rounds = run.runs ?? (run.quick ? (run.variant === asBuilt ? 2 : 20) : 200);
  const tally: Tally = {
    rounds: 0,
    unchanged: 0,
    drifted: 0,
    late: 0,
    longestMs: 0,
    missed: [],
    invented: [],
    unrepaired: [],
    unsaid: [],
  };
  const random = createRandom(seed);
  const { pool, services } = replicas;
  const written = await replicas.whileServing(async () => {
    // Stop at the first fault, because further rounds would show nothing new.
    while (tally.rounds < rounds && faultsOf(tally).length === 0) {
      const before = await clockOf(pool);
      await changeByHand(pool, random);
      const wrong = await wrongBuckets(pool);
      const begunAt = performance.now();
      const found = await roundsUntil(replicas, before, run.quick);
      const last = found.at(-1);
      tally.rounds += 1;
      if (last === undefined) {
        tally.late += 1;
        break;
      }
      tally.longestMs = Math.max(tally.longestMs, performance.now() - begunAt);
      compare(wrong, found, tally);
      if (!run.quick || tally.rounds === rounds) await readReady(replicas, last, tally);
      if (repair) tally.unrepaired.push(...(await wrongBuckets(pool)));
      else await services[0]?.rollups?.["monthly"]?.rebuildAll();
    }
  });
  reportPart(repair ? "with repair" : "without repair", tally, written, { repair }, report);
}

/** Returns the time of the database. */
async function clockOf(pool: Replicas["pool"]): Promise<string> {
  const { rows } = await pool.query<{ now: string }>("select clock_timestamp()::text as now");
  return rows[0]?.now ?? "";
}

/**
 * Waits for a round that begins after this call. Returns its findings, preceded by the findings of the rounds that ran
 * while the changes were made; an empty list if none ends in time.
 */
async function roundsUntil(
  { pool, services }: Replicas,
  before: string,
  isQuick: boolean,
): Promise<readonly Findings[]> {
  const since = await clockOf(pool);
  if (isQuick) {
    const payload = { scheduled_for: new Date(Date.now() + 1).toISOString() };
    await services[0]?.jobs?.enqueue({ task: "rollups:verify", payload });
  }
  const rounds = new Map<string, Findings>();
  for (const end = performance.now() + ROUND_MS; performance.now() < end; await delay(10)) {
    const { rows } = await pool.query<{ round: string; found: Findings; is_last: boolean }>(
      `select found_in::text as round, found, found_in > $2::timestamptz as is_last
       from svc_rollup_verifications where found_at > $1::timestamptz`,
      [before, since],
    );
    const [row] = rows;
    if (row === undefined) continue;
    rounds.set(row.round, row.found);
    if (row.is_last) return [...rounds.values()];
  }
  return [];
}

/** Compares the findings of the rounds with the findings of the server. Only the last round saw all changes. */
function compare(wrong: readonly string[], rounds: readonly Findings[], tally: Tally): void {
  if (wrong.length === 0) tally.unchanged += 1;
  tally.drifted += wrong.length;
  const found = new Set(rounds.flatMap(({ examples }) => examples.map(nameOf)));
  tally.missed.push(...wrong.filter((bucket) => !found.has(bucket)));
  const { examples = [], buckets = 0, error } = rounds.at(-1) ?? {};
  tally.invented.push(...examples.map(nameOf).filter((bucket) => !wrong.includes(bucket)));
  if (buckets !== examples.length)
    tally.invented.push(`${buckets} buckets, with ${examples.length} examples`);
  if (error !== undefined) tally.unsaid.push(error);
}

function nameOf({ tenant, month }: Findings["examples"][number]): string {
  return `${tenant ?? "none"} ${month}`;
}

/** Checks that both replicas report the findings of the round. A report may be a second old. */
async function readReady(
  { services }: Replicas,
  { buckets, repaired, differing }: Findings,
  tally: Tally,
): Promise<void> {
  const note = `rollup monthly: ${buckets} bucket(s) of ${differing} tenant(s) differ from their rows; `;
  const expected = buckets === repaired ? "1 rollup(s); " : note;
  for (const { address } of services) {
    let detail = "";
    for (let tries = 0; tries < 50 && !detail.startsWith(expected); tries++) {
      if (tries > 0) await delay(100);
      const response = await fetch(`http://127.0.0.1:${address?.port}/ready`);
      const { checks } = (await response.json()) as { checks: { rollups: { detail: string } } };
      detail = response.status === 200 ? checks.rollups.detail : `${response.status}`;
    }
    if (!detail.startsWith(expected)) tally.unsaid.push(`${detail} instead of ${expected}`);
  }
}

function faultsOf({ missed, invented, unrepaired, unsaid }: Tally): readonly string[] {
  return [...missed, ...invented, ...unrepaired, ...unsaid];
}

function reportPart(
  name: string,
  tally: Tally,
  written: number,
  { repair }: Pick<Part, "repair">,
  report: Report,
): void {
  const { rounds, unchanged, drifted, late, longestMs, missed, invented, unrepaired, unsaid } = tally;
  report.figure(name, "rounds", rounds, "");
  report.figure(name, "rounds without a change", unchanged, "");
  report.figure(name, "buckets changed by hand", drifted, "");
  report.figure(name, "buckets not found", missed.length, "");
  report.figure(name, "buckets found that are right", invented.length, "");
  report.figure(name, "transactions through the replicas", written, "");
  report.figure(name, "longest round", longestMs, "ms");
  report.rule(late === 0, `${name}: every round ends`);
  report.rule(
    missed.length === 0 && drifted > 0,
    `${name}: a round finds every bucket that was changed (${missed.slice(0, 3).join(", ")})`,
  );
  report.rule(
    invented.length === 0 && written > 0,
    `${name}: no other bucket is reported (${invented.slice(0, 3).join(", ")})`,
  );
  report.rule(
    unsaid.length === 0,
    `${name}: /ready of both replicas reports it (${unsaid.slice(0, 2).join(", ")})`,
  );
  if (repair)
    report.rule(
      unrepaired.length === 0,
      `${name}: the totals are right after the round (${unrepaired.slice(0, 3).join(", ")})`,
    );
}

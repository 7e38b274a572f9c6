import type { BenchOptions } from "../harness/bench.ts";
import { BUFFER } from "./contestant.ts";
import { type Member, startMembers } from "./members.ts";
import type { Effort, Result } from "./rows.ts";
import { makeDatabase } from "./server.ts";

/** The row in which ten processes with `concurrency` 10 drain one table. */
export const crowdMetric = "drain/noop/10x10/fastest";

const CONTESTANTS = ["svc", "graphile-worker"] as const;
const PROCESSES = 10;
const CONCURRENCY = 10;
const JOBS = 60_000;
const WARM_UPS = 2;

/** Measures jobs per second from the first handler in any process until no job is live. */
export async function measureCrowd(
  server: { readonly url: string; readonly pid: number },
  { rounds, share }: Effort,
  { note }: Pick<BenchOptions, "note">,
): Promise<Result[]> {
  await using stack = new AsyncDisposableStack();
  const crowds: { readonly name: string; readonly members: readonly Member[]; readonly values: number[] }[] =
    [];
  for (const name of CONTESTANTS) {
    const url = await makeDatabase(server.url, `crowd-${name}`);
    const places = Array.from({ length: PROCESSES }, () => ({ name, url }));
    const members = stack.use(await startMembers(places, server.pid)).all;
    crowds.push({ name, members, values: [] });
  }
  const jobs = Math.max(2000, Math.round(JOBS * share));
  for (let round = -WARM_UPS; round < Math.max(2, rounds); round++) {
    for (const { members, values } of round % 2 === 0 ? crowds : crowds.toReversed()) {
      const perSecond = await drain(members, jobs);
      if (round >= 0) values.push(perSecond);
    }
  }
  note(`${crowdMetric} measured`);
  return crowds.map(({ name, values }) => ({
    name,
    metric: crowdMetric,
    unit: "per_s",
    values,
    bound: { kind: "least", factor: 1, goal: false },
    inHand: PROCESSES * (name === "svc" ? BUFFER : BUFFER + CONCURRENCY),
  }));
}

async function drain(members: readonly Member[], jobs: number): Promise<number> {
  const [first] = members;
  if (first === undefined) throw new Error("no process was started");
  await first.share({ order: "fill", jobs });
  await Promise.all(members.map((each) => each.share({ order: "begin", concurrency: CONCURRENCY })));
  const { atMs: emptyMs } = await first.share({ order: "wait" });
  const shares = await Promise.all(members.map((each) => each.share({ order: "end" })));
  const begun = shares.reduce((sum, { begun: count }) => sum + count, 0);
  if (begun !== jobs) throw new Error(`${begun} handlers were started for ${jobs} jobs`);
  return (jobs / (emptyMs - Math.min(...shares.map(({ atMs }) => atMs)))) * 1000;
}

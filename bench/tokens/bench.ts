import { openTestRedis } from "@svc/dev-services";
import type { Bench, BenchOptions } from "../harness/bench.ts";
import { faultyControls } from "../harness/controls.ts";
import { pairedRatioOf, summarise } from "../harness/figures.ts";
import { conclude, judged, type Verdict } from "../harness/verdicts.ts";
import { doubtOf, durability, makeDatabase, startDurable } from "../queue/server.ts";
import { caseNames, chosen, type Group, groupsOf, type Servers, uses } from "./groups.ts";
import { type Effort, fullEffort, measureTimes, quickEffort, type Times } from "./measure.ts";

/** One result, as `--json` prints it. */
export interface Figure {
  readonly case: string;
  readonly metric: string;
  readonly value: number;
  readonly unit: "per_s" | "us" | "ratio";
}

/** Measures pairs and refreshes per second, and the cost of a revocation check and of a verification. */
export const tokens: Bench = {
  async run(options) {
    const wanted = chosen(groupsOf(nowhere), options.only);
    await using redis = uses(wanted, "redis") ? await openTestRedis() : undefined;
    await using durable = uses(wanted, "postgres") ? await startDurable(!options.quick) : undefined;
    const postgres =
      durable === undefined ? nowhere.postgres : { url: await makeDatabase(durable.url, "tokens") };
    if (durable !== undefined) {
      for (const line of await durability(durable.url)) options.note(`PostgreSQL: ${line}`);
      const doubt = doubtOf(durable.folder);
      if (doubt !== undefined) options.note(`PostgreSQL: ${doubt}`);
    }
    const servers = { redis: redis ?? nowhere.redis, postgres };
    const verdicts: Verdict[] = [];
    for (const group of chosen(groupsOf(servers), options.only))
      verdicts.push(...(await runGroup(group, options)));
    return conclude(verdicts, options);
  },
};

const nowhere: Servers = { redis: { url: "", keyPrefix: "" }, postgres: { url: "" } };

async function runGroup(group: Group, options: BenchOptions): Promise<readonly Verdict[]> {
  const { print, note, json, quick } = options;
  const effort = effortOf(options);
  let times = await measureTimes(group.cases, effort);
  let faults = faultyOf(times, group);
  if (faults.length > 0 && !quick) {
    note(`the control is at ${faults.join(" and ")}: measuring again, with twice the rounds`);
    times = await measureTimes(group.cases, { ...effort, rounds: effort.rounds * 2 });
    faults = faultyOf(times, group);
  }
  const figures = figuresOf(group, times);
  for (const figure of figures) print(json ? JSON.stringify({ bench: "tokens", ...figure }) : line(figure));
  if (faults.length > 0) {
    const text = `${group.controls.base}: the control is at ${faults.join(" and ")}; the machine is too busy to measure`;
    return [{ mark: "VOID", text }];
  }
  return boundVerdicts(group, figures);
}

function effortOf({ quick, rounds }: BenchOptions): Effort {
  const effort = quick ? quickEffort : fullEffort;
  return rounds === undefined ? effort : { ...effort, rounds };
}

function faultyOf(times: ReadonlyMap<string, Times>, { controls }: Group): readonly string[] {
  return faultyControls(new Map([...times].map(([name, { cpu }]) => [name, cpu])), controls);
}

/**
 * Returns medians over the rounds. Added costs are differences of lower quartiles, because a disturbance only adds time.
 */
export function figuresOf(
  { perSecond, controls, added }: Group,
  times: ReadonlyMap<string, Times>,
): readonly Figure[] {
  const base = times.get(controls.base)?.cpu ?? [];
  const without = added === undefined ? undefined : times.get(added.to)?.cpu;
  return [...times].flatMap(([name, { cpu, wall }]) => {
    const figure = (metric: string, value: number, unit: Figure["unit"]): Figure => ({
      case: name,
      metric,
      value: Math.round(value * 100) / 100,
      unit,
    });
    if (controls.names.includes(name)) return [figure("paired-ratio", pairedRatioOf(cpu, base), "ratio")];
    return [
      ...(perSecond === undefined ? [] : [figure(perSecond, 1e6 / summarise(wall).median, "per_s")]),
      figure("us_per_op", summarise(cpu).median, "us"),
      ...(without === undefined || name === added?.to
        ? []
        : [figure("added_us", summarise(cpu).p25 - summarise(without).p25, "us")]),
    ];
  });
}

/** Judges the added cost of a case, if the group has a bound. */
export function boundVerdicts({ added }: Group, figures: readonly Figure[]): readonly Verdict[] {
  if (added === undefined) return [];
  const figure = figures.find((each) => each.case === added.case && each.metric === "added_us");
  const value = figure?.value ?? Number.NaN;
  const text = `${added.case} adds ${value} us to a request, bound at most ${added.boundUs}`;
  return [judged(value <= added.boundUs, text)];
}

const widest = Math.max(...caseNames.map(({ length }) => length));

function line({ case: name, metric, value, unit }: Figure): string {
  const text = unit === "per_s" ? value.toFixed(0) : value.toFixed(2);
  return `${name.padEnd(widest)}  ${metric.padEnd(20)}${text.padStart(10)}`;
}

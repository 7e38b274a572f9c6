import { openTestDatabase, openTestRedis } from "@svc/dev-services";
import type { Bench, BenchOptions } from "../harness/bench.ts";
import { faultyControls } from "../harness/controls.ts";
import { pairedRatioOf, summarise } from "../harness/figures.ts";
import { caseNames, chosen, type Group, groupsOf, type Servers, uses } from "./groups.ts";
import { type Effort, fullEffort, measureTimes, quickEffort, type Times } from "./measure.ts";

/** One figure, as `--json` prints it. */
export interface Figure {
  readonly case: string;
  readonly metric: string;
  readonly value: number;
  readonly unit: "per_s" | "us" | "ratio";
}

/** How many pairs are issued and refreshed in a second, and what asking whether a token was revoked costs. */
export const tokens: Bench = {
  async run(options) {
    const wanted = chosen(groupsOf(nowhere), options.only);
    await using redis = uses(wanted, "redis") ? await openTestRedis() : undefined;
    await using postgres = uses(wanted, "postgres") ? await openTestDatabase({ name: "bench" }) : undefined;
    const servers = { redis: redis ?? nowhere.redis, postgres: postgres ?? nowhere.postgres };
    const groups = chosen(groupsOf(servers), options.only);
    let code = 0;
    for (const group of groups) code = Math.max(code, await runGroup(group, options));
    return code;
  },
};

const nowhere: Servers = { redis: { url: "", keyPrefix: "" }, postgres: { url: "" } };

async function runGroup(group: Group, options: BenchOptions): Promise<number> {
  const { print, note, json } = options;
  const effort = effortOf(options);
  let times = await measureTimes(group.cases, effort);
  let faults = faultyOf(times, group);
  if (faults.length > 0) {
    note(`the control is at ${faults.join(" and ")}: measuring again, with twice the rounds`);
    times = await measureTimes(group.cases, { ...effort, rounds: effort.rounds * 2 });
    faults = faultyOf(times, group);
  }
  const figures = figuresOf(group, times);
  for (const figure of figures) print(json ? JSON.stringify({ bench: "tokens", ...figure }) : line(figure));
  if (faults.length > 0) {
    note(`void: the control is at ${faults.join(" and ")}; the machine is too busy to measure`);
    return 1;
  }
  return keepsBound(group, figures, note) ? 0 : 1;
}

function effortOf({ quick, rounds }: BenchOptions): Effort {
  const effort = quick ? quickEffort : fullEffort;
  return rounds === undefined ? effort : { ...effort, rounds };
}

function faultyOf(times: ReadonlyMap<string, Times>, { controls }: Group): readonly string[] {
  return faultyControls(new Map([...times].map(([name, { cpu }]) => [name, cpu])), controls);
}

/** Medians over the rounds; what is added is between the lower quarters, as what disturbs a machine only ever adds. */
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

/** Whether what ours adds is within its bound. */
export function keepsBound(
  { added }: Group,
  figures: readonly Figure[],
  note: (line: string) => void,
): boolean {
  if (added === undefined) return true;
  const { value = 0 } = figures.find((each) => each.case === added.case && each.metric === "added_us") ?? {};
  if (value <= added.boundUs) return true;
  note(`${added.case} adds ${value} us to a request; the bound is ${added.boundUs}`);
  return false;
}

const widest = Math.max(...caseNames.map(({ length }) => length), "control-redis-check".length);

function line({ case: name, metric, value, unit }: Figure): string {
  const text = unit === "per_s" ? value.toFixed(0) : value.toFixed(2);
  return `${name.padEnd(widest)}  ${metric.padEnd(16)}${text.padStart(10)}`;
}

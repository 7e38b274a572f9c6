import { summarise } from "../harness/figures.ts";
import type { Measured } from "../harness/rounds.ts";
import { judged, type Verdict } from "../harness/verdicts.ts";
import type { Crossing } from "./boundary.ts";
import type { Growth } from "./memory-process.ts";

const MEMORY_BOUND_MB = 100;
/** Maximum growth of the memory after the first quarter of the addresses. */
const FLAT_MB = 5;

/** Returns the verdicts on the costs of the measured cases. */
export function costVerdicts(costs: Measured): readonly Verdict[] {
  const of = (name: string): number => summarise(costs.get(name) ?? []).median;
  const [own, peer] = [of("svc-memory") - of("none"), of("express-rate-limit") - of("none")];
  const [inRedis, peerInRedis] = [of("svc-redis"), of("rate-limiter-flexible-redis")];
  const all = [
    judged(
      own <= peer,
      `svc-memory adds ${two(own)} us, bound at most that of express-rate-limit, ${two(peer)}`,
    ),
    judged(
      inRedis <= peerInRedis,
      `svc-redis costs ${two(inRedis)} us, bound at most rate-limiter-flexible-redis, ${two(peerInRedis)}`,
    ),
  ];
  const isMeasured = [
    ["none", "svc-memory", "express-rate-limit"],
    ["svc-redis", "rate-limiter-flexible-redis"],
  ].map((names) => names.every((name) => costs.has(name)));
  return all.filter((_, index) => isMeasured[index]);
}

/** Returns the verdicts on the requests that our limits admit at the boundary of a window. */
export function boundaryVerdicts(crossings: ReadonlyMap<string, Crossing>): readonly Verdict[] {
  return [...crossings]
    .filter(([name]) => name.startsWith("svc-"))
    .map(([name, { admitted, most }]) =>
      judged(admitted <= most, `${name} admits ${admitted} at the boundary, bound at most ${most}`),
    );
}

/** Returns the verdicts on the memory for a million addresses. */
export function memoryVerdicts(growth: Growth): readonly Verdict[] {
  const most = Math.max(...growth);
  const [first = Number.NaN] = growth;
  return [
    judged(most <= MEMORY_BOUND_MB, `1,000,000 addresses need ${most} MB, bound at most ${MEMORY_BOUND_MB}`),
    judged(
      most - first <= FLAT_MB,
      `the memory grows by ${two(most - first)} MB after the first quarter, bound at most ${FLAT_MB}`,
    ),
  ];
}

function two(value: number): string {
  return value.toFixed(2);
}

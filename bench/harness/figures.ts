/** The costs of one case, one measurement per round, in microseconds of CPU time. */
export type Samples = readonly number[];

export interface Summary {
  readonly min: number;
  readonly p25: number;
  readonly median: number;
  readonly max: number;
}

export function summarise(samples: Samples): Summary {
  const sorted = samples.toSorted((a, b) => a - b);
  return {
    min: sorted[0] ?? Number.NaN,
    p25: quantile(sorted, 0.25),
    median: quantile(sorted, 0.5),
    max: sorted.at(-1) ?? Number.NaN,
  };
}

/** Returns the ratio of the medians. */
export function ratioOf(samples: Samples, base: Samples): number {
  return summarise(samples).median / summarise(base).median;
}

/**
 * Returns the median of the ratios of all rounds: a disturbance of a whole round affects both cases, so it cancels out.
 */
export function pairedRatioOf(samples: Samples, base: Samples): number {
  return summarise(samples.map((cost, round) => cost / (base[round] ?? Number.NaN))).median;
}

function quantile(sorted: Samples, share: number): number {
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)] ?? Number.NaN;
  const above = sorted[Math.ceil(place)] ?? Number.NaN;
  return below + (above - below) * (place - Math.floor(place));
}

/** Collects the results of an experiment. */
export interface Report {
  /** Records a count or measurement of one case. */
  figure(caseName: string, metric: string, value: number, unit: string): void;
  /** Records a rule and whether it held. */
  rule(held: boolean, text: string): void;
  /** Prints a line for people, which JSON output omits. */
  note(text: string): void;
}

/** A report that also returns its results and broken rules. */
export interface Collected extends Report {
  readonly figures: readonly Figure[];
  /** The rules that did not hold. */
  readonly broken: readonly string[];
  /** Returns the value of a result. Throws when the result is missing. */
  value(caseName: string, metric: string): number;
}

export interface Figure {
  readonly experiment: string;
  readonly case: string;
  readonly metric: string;
  readonly value: number;
  readonly unit: string;
}

/** @param print receives each line; default: no output. @param json whether to print only one JSON object per result */
export function createReport(experiment: string, print?: (line: string) => void, json = false): Collected {
  const figures: Figure[] = [];
  const broken: string[] = [];
  const printText = json ? undefined : print;
  return {
    figures,
    broken,
    figure(caseName, metric, value, unit) {
      const figure: Figure = { experiment, case: caseName, metric, value: rounded(value), unit };
      figures.push(figure);
      if (json) print?.(JSON.stringify(figure));
      else
        printText?.(
          `  ${caseName.padEnd(34)} ${metric.padEnd(40)} ${String(figure.value).padStart(10)} ${unit}`,
        );
    },
    rule(held, text) {
      if (!held) broken.push(text);
      printText?.(`  ${held ? "held  " : "BROKEN"} ${text}`);
    },
    note(text) {
      printText?.(`  ${text}`);
    },
    value(caseName, metric) {
      const found = figures.findLast((each) => each.case === caseName && each.metric === metric);
      if (found === undefined) throw new Error(`no result ${metric} of ${caseName}`);
      return found.value;
    },
  };
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}

/** Returns the given quantile of the values; NaN without values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

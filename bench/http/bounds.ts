import { ratioOf } from "../harness/figures.ts";
import type { Measured } from "../harness/rounds.ts";
import { controls } from "./cases.ts";

/** The largest permitted ratio of a case to another case of the same run. */
export interface Bound {
  readonly name: string;
  readonly base: string;
  readonly most: number;
}

export const bounds: readonly Bound[] = [
  { name: "svc-express", base: controls.base, most: 0.85 },
  { name: "svc-express-no-etag", base: controls.base, most: 0.72 },
  { name: "svc-full", base: controls.base, most: 1.06 },
  { name: "svc-full-no-etag", base: controls.base, most: 0.96 },
  { name: "svc-full-own", base: "svc-full", most: 1.03 },
  { name: "packages-tuned", base: controls.base, most: 0.85 },
  { name: "full-packages-tuned", base: controls.base, most: 1.12 },
  { name: "svc-full-rs256-unseen", base: "bare-express5-rs256", most: 1.25 },
];

/** The verdict on a bound. */
export interface Verdict {
  readonly line: string;
  readonly broken: boolean;
}

/** Returns the verdicts of the bounds whose two cases were both measured. */
export function verdictsOf(measured: Measured): readonly Verdict[] {
  return bounds.flatMap(({ name, base, most }) => {
    const [samples, baseSamples] = [measured.get(name), measured.get(base)];
    if (samples === undefined || baseSamples === undefined) return [];
    const ratio = ratioOf(samples, baseSamples);
    const broken = !(ratio <= most);
    const line = `${broken ? "FAIL" : "ok  "} ${name}: ${ratio.toFixed(3)} x ${base}, bound at most ${most}`;
    return [{ line, broken }];
  });
}

import { existsSync } from "node:fs";
import type { BenchOptions } from "../harness/bench.ts";
import { fileOfCheckout } from "../harness/checkout.ts";
import { measureWithControls } from "../harness/controls.ts";
import { pairedRatioOf, ratioOf, summarise } from "../harness/figures.ts";
import type { Effort, Measured } from "../harness/rounds.ts";
import type { Case } from "../harness/subject.ts";
import { conclude, judged, type Verdict } from "../harness/verdicts.ts";
import { chosenCases, controls } from "./cases.ts";

/** The largest permitted cost of a case, relative to the same case of the other checkout. */
export const MOST = 1.03;

const own = /^(?:svc|packages|full-packages|\+)/;
const variants = new URL("./variants/", import.meta.url).href;

/**
 * Measures the cases of these packages and the same cases of another checkout, all in one run. The other checkout is
 * measured twice; the second measurement is the control.
 *
 * @throws Error when the directory is not a checkout with installed dependencies
 */
export async function measureAgainst(
  directory: string,
  effort: Effort,
  { only, note }: Pick<BenchOptions, "only" | "note">,
): Promise<Measured> {
  return measureWithControls(casesAgainst(directory, only), controls, effort, note);
}

/** Returns the cases to measure: each case of this checkout once, and the same case of the other checkout twice. */
export function casesAgainst(directory: string, only: BenchOptions["only"]): readonly Case[] {
  const route = fileOfCheckout(directory, "bench/http/route.ts");
  const base = new URL("variants/", route);
  return chosenCases(only).flatMap((each) => {
    if (!own.test(each.name)) return isControl(each.name) ? [each] : [];
    const other = { ...each, module: new URL(each.module.href.slice(variants.length), base) };
    if (!existsSync(other.module)) return [];
    return [{ ...other, name: baseOf(each.name) }, each, { ...other, name: `${baseOf(each.name)} again` }];
  });
}

/** Prints the ratio of each case, and returns the exit code: 1 when a case costs more than {@link MOST} allows. */
export function concludeAgainst(measured: Measured, options: BenchOptions): number {
  return conclude(verdictsAgainst(measured), options);
}

/**
 * Returns the verdicts. `VOID` replaces `FAIL` if the two measurements of the other checkout differ by more than the
 * bound allows.
 */
export function verdictsAgainst(measured: Measured): readonly Verdict[] {
  return [...measured].flatMap(([name, samples]) => {
    const base = measured.get(baseOf(name));
    if (base === undefined) return [];
    const again = measured.get(`${baseOf(name)} again`) ?? [];
    const [ratio, control] = [ratioOf(samples, base), ratioOf(again, base)];
    const text =
      `${name}: ${ratio.toFixed(3)} x base, bound at most ${MOST} (paired ${pairedRatioOf(samples, base).toFixed(3)}, ` +
      `control ${control.toFixed(3)}; ${summarise(samples).p25.toFixed(2)} us)`;
    const isVoid = Math.abs(control - 1) > MOST - 1;
    return isVoid && ratio > MOST ? [{ mark: "VOID", text } as const] : [judged(ratio <= MOST, text)];
  });
}

function baseOf(name: string): string {
  return `${name} (base)`;
}

function isControl(name: string): boolean {
  return name === controls.base || controls.names.includes(name);
}

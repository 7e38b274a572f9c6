/** A vertical axis from 0 to a round number. */
export interface Scale {
  readonly top: number;
  /** The values of grid lines and labels, from 0 to `top`. */
  readonly ticks: readonly number[];
}

const cent = 0.01;

/**
 * @param largest the largest value to show
 * @param isCount whether values are whole numbers; otherwise they are amounts with two decimals
 */
export function scaleFor(largest: number, isCount = false): Scale {
  if (!(largest > 0)) return { top: 1, ticks: [0, 1] };
  const power = 10 ** Math.floor(Math.log10(largest / 4));
  const steps = (isCount ? [1, 2, 5, 10] : [1, 2, 2.5, 5, 10]).map((each) => each * power);
  const wanted = steps.find((each) => each * 4 >= largest) ?? largest;
  const step = Math.max(isCount ? 1 : cent, wanted);
  const count = Math.ceil(largest / step);
  // Multiply instead of adding `step` repeatedly, because 0.1 + 0.1 + 0.1 is not 0.3.
  const ticks = Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(12)));
  return { top: count * step, ticks };
}

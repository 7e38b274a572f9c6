import { type Html, markup } from "@svc/html";
import { type ChartFrame, framed, heightAt, pixel, slotLeft, slotWidth, tip } from "./frame.ts";
import { scaleFor } from "./scale.ts";

/** One segment of every bar, drawn in one colour. */
export interface Series {
  readonly name: string;
  /** One value for each month; `text` is the exact value that is shown. */
  readonly values: readonly { readonly height: number; readonly text: string }[];
}

/** The data of a chart with one stacked bar for each month. */
export type StackedBars = Omit<ChartFrame, "scale"> & {
  readonly series: readonly Series[];
  /** Whether the values are counts. */
  readonly isCount: boolean;
};

export function stackedBars({ series, isCount, ...frame }: StackedBars): Html {
  const { months } = frame;
  const sums = months.map((_, index) => sumOf(series.map(({ values }) => values[index]?.height ?? 0)));
  const scale = scaleFor(Math.max(0, ...sums), isCount);
  const slot = slotWidth(months);
  const width = Math.min(40, slot * 0.7);
  const bars = months.map((month, index) => {
    const x = pixel(slotLeft(months, index) + (slot - width) / 2);
    let below = 0;
    return markup`<g>${series.map(({ name, values }, place) => {
      const { height = 0, text = "" } = values[index] ?? {};
      if (height === 0) return markup``;
      const [bottom, top] = [heightAt(scale, below), heightAt(scale, below + height)];
      below += height;
      return markup`<rect class="series-${place}" x="${x}" y="${pixel(top)}" width="${pixel(width)}" height="${pixel(bottom - top)}">${tip(month, name, text)}</rect>`;
    })}</g>`;
  });
  return markup`${legend(series)}
${framed({ ...frame, scale }, markup`${bars}`)}`;
}

/** Returns the legend in the order of the segments, from top to bottom. */
function legend(series: readonly Series[]): Html {
  const items = series.map(
    ({ name }, place) =>
      markup`<li><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect class="series-${place}" width="10" height="10"/></svg>${name}</li>`,
  );
  return markup`<ul class="legend" role="list">
${items.toReversed()}
</ul>`;
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

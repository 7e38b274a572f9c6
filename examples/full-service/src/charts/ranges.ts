import { type Html, markup } from "@svc/html";
import { type ChartFrame, framed, heightAt, pixel, slotLeft, slotWidth, tip } from "./frame.ts";
import { scaleFor } from "./scale.ts";

/** The smallest, average and largest amount of a month, as exact decimal strings. */
export interface Range {
  readonly least: string;
  readonly middle: string;
  readonly most: string;
}

/** The data of a chart of bars from the smallest value to the largest, with a mark at the average. */
export type Ranges = Omit<ChartFrame, "scale"> & {
  /** The ranges by month. Months may be missing. */
  readonly ranges: ReadonlyMap<string, Range>;
};

export function rangeBars({ ranges, ...frame }: Ranges): Html {
  const { months } = frame;
  const scale = scaleFor(Math.max(0, ...[...ranges.values()].map(({ most }) => Number(most))));
  const slot = slotWidth(months);
  const width = Math.min(14, slot * 0.4);
  const marks = months.map((month, index) => {
    const range = ranges.get(month);
    if (range === undefined) return markup``;
    const center = slotLeft(months, index) + slot / 2;
    const [least, middle, most] = [range.least, range.middle, range.most].map((value) =>
      heightAt(scale, Number(value)),
    ) as [number, number, number];
    const title = tip(month, `smallest ${range.least}`, `average ${range.middle}`, `largest ${range.most}`);
    // The bar of a month with one expense has no height but must be visible.
    const height = Math.max(2, least - most);
    return markup`<g>${title}<rect class="range" x="${pixel(center - width / 2)}" y="${pixel(most)}" width="${pixel(width)}" height="${pixel(height)}" rx="3"/>
<rect class="middle" x="${pixel(center - width)}" y="${pixel(middle - 2)}" width="${pixel(width * 2)}" height="4"/></g>`;
  });
  return markup`<ul class="legend" role="list">
<li><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect class="range" x="3" width="4" height="10" rx="1"/></svg>smallest to largest</li>
<li><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect class="middle" y="3" width="10" height="4"/></svg>average</li>
</ul>
${framed({ ...frame, scale }, markup`${marks}`)}`;
}

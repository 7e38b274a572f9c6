import { type Html, markup } from "@svc/html";
import { monthLabel, monthTitle } from "../reports/month.ts";
import type { Scale } from "./scale.ts";

/** The parts that all charts of months share. */
export interface ChartFrame {
  /** Id that is unique among the charts of the page. */
  readonly id: string;
  readonly title: string;
  /** A text alternative to the drawing. */
  readonly description: string;
  readonly months: readonly string[];
  readonly scale: Scale;
}

const width = 720;
const height = 300;
const edge = { left: 60, right: 4, top: 14, bottom: 42 } as const;
const inner = { width: width - edge.left - edge.right, height: height - edge.top - edge.bottom };
const mostLabels = 14;

/** Returns the width of the area for one month. */
export function slotWidth(months: readonly string[]): number {
  return inner.width / Math.max(1, months.length);
}

/** Returns the left edge of the area for a month. */
export function slotLeft(months: readonly string[], index: number): number {
  return edge.left + index * slotWidth(months);
}

/** Returns the y coordinate of a value. */
export function heightAt({ top }: Scale, value: number): number {
  return edge.top + inner.height * (1 - value / top);
}

/** Formats a coordinate with one decimal, which is finer than a pixel. */
export function pixel(value: number): string {
  return String(Math.round(value * 10) / 10);
}

/** Returns a drawing with its axes. It scrolls on a narrow screen, because smaller letters would be illegible. */
export function framed({ id, title, description, months, scale }: ChartFrame, marks: Html): Html {
  const lines = scale.ticks.map((tick) => {
    const y = pixel(heightAt(scale, tick));
    return markup`<line class="${tick === 0 ? "axis" : "grid"}" x1="${edge.left}" x2="${width - edge.right}" y1="${y}" y2="${y}"/>
<text class="tick" x="${edge.left - 8}" y="${y}" dy=".32em">${tickText(tick)}</text>`;
  });
  return markup`<div class="scroll" role="group" aria-label="${title}, a chart" tabindex="0">
<svg class="chart" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="${id}-title ${id}-desc">
<title id="${id}-title">${title}</title>
<desc id="${id}-desc">${description}</desc>
${lines}
${months.map((month, index) => label(months, month, index))}
${marks}
</svg>
</div>`;
}

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 });

/** Formats a tick, for example `500`, `100,000`, `2.5M`; millions are shortened to fit the axis. */
export function tickText(tick: number): string {
  return tick < 1e6 ? tick.toLocaleString("en") : compact.format(tick);
}

function label(months: readonly string[], month: string, index: number): Html {
  const every = Math.ceil(months.length / mostLabels);
  if (index % every !== 0) return markup``;
  const x = pixel(slotLeft(months, index) + slotWidth(months) / 2);
  const bottom = height - edge.bottom;
  const isFirstOfYear = index === 0 || months[index - every]?.slice(0, 4) !== month.slice(0, 4);
  return markup`<text class="label" x="${x}" y="${bottom + 17}">${monthLabel(month)}</text>${
    isFirstOfYear && markup`<text class="label year" x="${x}" y="${bottom + 34}">${month.slice(0, 4)}</text>`
  }`;
}

/** Returns the tooltip of a mark. */
export function tip(month: string, ...facts: readonly string[]): Html {
  return markup`<title>${[monthTitle(month), ...facts].join(", ")}</title>`;
}

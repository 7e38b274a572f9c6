import { escapeHtml } from "./escape-html.ts";

/** One line of a chart. */
export interface Series {
  readonly name: string;
  /** One value per position of the x axis. */
  readonly values: readonly number[];
}

/** A line chart. */
export interface Chart {
  /** Prefix of the ids, unique in the page. */
  readonly id: string;
  readonly title: string;
  /** Describes the chart for people who cannot see it. */
  readonly description: string;
  readonly xTitle: string;
  readonly yTitle: string;
  readonly labels: readonly string[];
  readonly series: readonly Series[];
  /** Whether the y axis is logarithmic, with a factor of ten between two labels. */
  readonly isLogarithmic: boolean;
  readonly format: (value: number) => string;
}

const width = 720;
const height = 320;
const area = { left: 84, right: width - 130, top: 40, bottom: height - 56 };
const dashes = ["none", "7 4", "2 3"];

/** Returns a chart as an SVG element that needs no script. */
export function svgChart(chart: Chart): string {
  const { id, title, description, xTitle, yTitle, labels, series, format } = chart;
  const { ticks, yOf } = scaleOf(chart);
  const xOf = (at: number): number =>
    labels.length === 1
      ? (area.left + area.right) / 2
      : area.left + 20 + (at * (area.right - area.left - 40)) / (labels.length - 1);
  const grid = ticks.map((tick) => {
    const y = round(yOf(tick));
    return `<line class="grid" x1="${area.left}" x2="${area.right}" y1="${y}" y2="${y}"/>${text(area.left - 8, y + 4, format(tick), "end")}`;
  });
  const names = labels.map((label, at) => text(round(xOf(at)), area.bottom + 20, label, "middle"));
  const lines = series.map(({ values, name }, index) => {
    const points = values.map((value, at) => [round(xOf(at)), round(yOf(value))] as const);
    const marks = points.map(([x, y]) => `<circle class="s${index}" cx="${x}" cy="${y}" r="4"/>`);
    const path = points.map((point) => point.join()).join(" ");
    return `<polyline class="s${index}" stroke-dasharray="${dashes[index]}" points="${path}"/>${marks.join("")}${legendOf(name, index)}`;
  });
  return `<svg viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="${id}-title ${id}-desc">
<title id="${id}-title">${escapeHtml(title)}</title>
<desc id="${id}-desc">${escapeHtml(description)}</desc>
${text(area.left, 20, yTitle, "start")}
${grid.join("\n")}
${names.join("\n")}
${text((area.left + area.right) / 2, height - 12, xTitle, "middle")}
${lines.join("\n")}
</svg>`;
}

/** Returns the entry of a line in the legend: a piece of the line and its name. */
function legendOf(name: string, index: number): string {
  const [x, y] = [area.right + 16, area.top + 12 + index * 24];
  return `<line class="s${index}" stroke-dasharray="${dashes[index]}" x1="${x}" x2="${x + 34}" y1="${y - 4}" y2="${y - 4}"/>${text(x + 42, y, name, "start")}`;
}

interface Scale {
  readonly ticks: readonly number[];
  readonly yOf: (value: number) => number;
}

function scaleOf({ series, isLogarithmic }: Chart): Scale {
  const values = series.flatMap((each) => each.values);
  const most = Math.max(0, ...values) || 1;
  const project = (share: number): number => area.bottom - share * (area.bottom - area.top);
  if (!isLogarithmic) {
    const step = niceStep(most / 4);
    const top = Math.max(Math.ceil(most / step), 1) * step;
    const ticks = Array.from({ length: Math.round(top / step) + 1 }, (_, at) => at * step);
    return { ticks, yOf: (value) => project(value / top) };
  }
  const positive = values.filter((value) => value > 0);
  if (positive.length === 0) return { ticks: [], yOf: () => project(0) };
  const low = Math.floor(Math.log10(Math.min(...positive)));
  const high = Math.max(Math.ceil(Math.log10(most)), low + 1);
  const ticks = Array.from({ length: high - low + 1 }, (_, at) => 10 ** (low + at));
  return {
    ticks,
    yOf: (value) => project(value <= 0 ? 0 : (Math.log10(value) - low) / (high - low)),
  };
}

/** Returns the smallest of 1, 2, 5, 10, 20, 50 ... that is at least `least`. */
function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least) ?? least;
}

function text(x: number, y: number, words: string, anchor: string): string {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}">${escapeHtml(words)}</text>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

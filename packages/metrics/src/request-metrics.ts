import type { Registry } from "prom-client";
import Counter from "prom-client/lib/counter.js";
import Gauge from "prom-client/lib/gauge.js";
import Histogram from "prom-client/lib/histogram.js";
import type { Cell, Exemplar, RequestCells } from "./request-cells.ts";

type HistogramData = Awaited<ReturnType<Histogram["get"]>>;

/**
 * Registers the request metrics (MET-3 to MET-6). They read the cells when the registry is rendered, so that prom-client's
 * labels are built per scrape instead of per request.
 */
export function registerRequestMetrics(
  registry: Registry,
  cells: RequestCells,
  info: { readonly service: string; readonly version: string },
): void {
  const registers = [registry];
  new Counter({
    name: "http_requests_total",
    help: "Requests by method, route template and status.",
    labelNames: ["method", "endpoint", "status"],
    registers,
    collect() {
      this.reset();
      for (const { method, cell } of all(cells)) {
        for (const [index, status] of cell.statuses.entries()) {
          this.inc(
            { method, endpoint: cell.endpoint, status: String(status) },
            cell.statusCounts[index] ?? 0,
          );
        }
      }
    },
  });
  new CellHistogram(registry, cells);
  new Gauge({
    name: "http_requests_in_progress",
    help: "Requests in progress, by method.",
    labelNames: ["method"],
    registers,
    collect() {
      for (const { method, inProgress, cells: counted } of cells.methods) {
        if (inProgress > 0 || counted.size > 0) this.set({ method }, inProgress);
      }
    },
  });
  new Gauge({
    name: "service_info",
    help: "Name and version of the service; always 1.",
    labelNames: ["service", "version"],
    registers,
    collect() {
      this.set({ ...info }, 1);
    },
  });
}

function* all(cells: RequestCells): Generator<{ readonly method: string; readonly cell: Cell }> {
  for (const { method, cells: counted } of cells.methods) {
    for (const cell of counted.values()) yield { method, cell };
  }
}

function exemplarIn({ exemplars }: Cell, bucket: number): { readonly exemplar?: Exemplar } {
  const exemplar = exemplars[bucket];
  return exemplar === undefined ? {} : { exemplar };
}

const DURATION = {
  name: "http_request_duration_seconds",
  help: "Time until the response was written to the socket, in seconds.",
  labelNames: ["method", "endpoint"],
} as const;

/** A histogram that exports the cells and ignores values passed to `observe()`. */
class CellHistogram extends Histogram<"method" | "endpoint" | "le"> {
  readonly #cells: RequestCells;
  /** An empty histogram that supplies name, help and type in the form that prom-client expects. */
  readonly #empty: Histogram = new Histogram({ ...DURATION, registers: [] });

  constructor(registry: Registry, cells: RequestCells) {
    super({ ...DURATION, buckets: [...cells.bounds], registers: [registry] });
    this.#cells = cells;
  }

  override async get(): Promise<HistogramData> {
    const empty = await this.#empty.get();
    const values: HistogramData["values"] = [];
    const bucket = { metricName: `${empty.name}_bucket` };
    for (const { method, cell } of all(this.#cells)) {
      const labels = { method, endpoint: cell.endpoint };
      let below = 0;
      for (const [index, le] of this.#cells.bounds.entries()) {
        below += cell.buckets[index] ?? 0;
        values.push({ ...bucket, labels: { le, ...labels }, value: below, ...exemplarIn(cell, index) });
      }
      const last = exemplarIn(cell, this.#cells.bounds.length);
      values.push(
        { ...bucket, labels: { le: "+Inf", ...labels }, value: cell.count, ...last },
        { metricName: `${empty.name}_sum`, labels, value: cell.sumSeconds },
        { metricName: `${empty.name}_count`, labels, value: cell.count },
      );
    }
    return { ...empty, values };
  }

  /** The registry calls this instead of `get()` when it writes a histogram as text. */
  getForPromString(): Promise<HistogramData> {
    return this.get();
  }

  override reset(): void {
    super.reset();
    // The constructor of the base class calls reset() before the cells exist.
    if (#cells in this) this.#cells.reset();
  }
}

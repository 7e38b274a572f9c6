/** A request whose trace can be looked up. */
export interface Exemplar {
  readonly labelSet: { readonly trace_id: string };
  /** The request's duration in seconds. */
  readonly value: number;
  /** Seconds since the epoch. */
  readonly timestamp: number;
}

/** The counts of one method and endpoint. */
export interface Cell {
  readonly endpoint: string;
  /** The number of durations in each bucket, not cumulative; the last bucket is above all bounds. */
  readonly buckets: number[];
  /** The last exemplar of each bucket that has one. */
  readonly exemplars: Exemplar[];
  sumSeconds: number;
  count: number;
  /**
   * Statuses in the order of their first occurrence; `statusCounts` has their counts. A list is faster than a map for few
   * entries.
   */
  readonly statuses: number[];
  readonly statusCounts: number[];
}

/** The counts of one method. */
export interface MethodCells {
  readonly method: string;
  inProgress: number;
  readonly cells: Map<string, Cell>;
}

/** The endpoint of a request that no route matched (MET-9). */
export const UNMATCHED = "<unmatched>";
/** The endpoint of requests that would exceed the limit on series. */
export const OTHER_ENDPOINT = "<other>";

const OTHER_METHOD = "OTHER";
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"];

/** Request counts as plain numbers, so that a request costs only additions. */
export interface RequestCells {
  /** One entry for each known method, and one for all others. */
  readonly methods: readonly MethodCells[];
  readonly bounds: readonly number[];
  methodOf(method: string | undefined): MethodCells;
  record(of: MethodCells, endpoint: string, status: number, seconds: number): void;
  /** Keeps a recorded request as the exemplar of its bucket. */
  keepExemplar(of: MethodCells, endpoint: string, exemplar: Exemplar): void;
  /** Returns the number of pairs of method and endpoint, the limit, and whether a pair was merged into `<other>`. */
  usage(): { readonly used: number; readonly max: number; readonly overflowed: boolean };
  /** Clears all counts except the requests in progress. */
  reset(): void;
}

/** @param bounds ascending upper bounds of the buckets, in seconds */
export function createRequestCells(bounds: readonly number[], max: number): RequestCells {
  const methods = [...METHODS, OTHER_METHOD].map((method): MethodCells => ({
    method,
    inProgress: 0,
    cells: new Map(),
  }));
  const byName = new Map(methods.map((each) => [each.method, each]));
  const others = methods.at(-1) as MethodCells;
  let used = 0;
  let overflowed = false;

  function newCell(of: MethodCells, endpoint: string): Cell {
    let name = endpoint;
    if (endpoint !== UNMATCHED && endpoint !== OTHER_ENDPOINT) {
      if (used >= max) {
        overflowed = true;
        name = OTHER_ENDPOINT;
      } else used++;
    }
    let cell = of.cells.get(name);
    if (cell === undefined) {
      const buckets = Array.from({ length: bounds.length + 1 }, () => 0);
      cell = {
        endpoint: name,
        buckets,
        exemplars: [],
        sumSeconds: 0,
        count: 0,
        statuses: [],
        statusCounts: [],
      };
      of.cells.set(name, cell);
    }
    return cell;
  }

  function bucketOf(seconds: number): number {
    let bucket = 0;
    while (bucket < bounds.length && seconds > (bounds[bucket] as number)) bucket++;
    return bucket;
  }

  return {
    methods,
    bounds,
    methodOf: (method) => byName.get(method ?? "") ?? others,
    record(of, endpoint, status, seconds) {
      const cell = of.cells.get(endpoint) ?? newCell(of, endpoint);
      (cell.buckets[bucketOf(seconds)] as number)++;
      cell.sumSeconds += seconds;
      cell.count++;
      const known = cell.statuses.indexOf(status);
      if (known === -1) {
        cell.statuses.push(status);
        cell.statusCounts.push(1);
      } else (cell.statusCounts[known] as number)++;
    },
    keepExemplar(of, endpoint, exemplar) {
      const cell = of.cells.get(endpoint) ?? of.cells.get(OTHER_ENDPOINT);
      if (cell !== undefined) cell.exemplars[bucketOf(exemplar.value)] = exemplar;
    },
    usage: () => ({ used, max, overflowed }),
    reset() {
      for (const each of methods) each.cells.clear();
      used = 0;
      overflowed = false;
    },
  };
}

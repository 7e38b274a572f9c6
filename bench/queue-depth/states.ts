/** A state of the table: the rows that it contains besides the claimed jobs. */
export interface State {
  readonly name: string;
  /** The number of these rows. */
  readonly rows: number;
  /** The values of `status`, `available_at` and `locked_until` of row `n`, as SQL. */
  readonly row: readonly [status: string, availableAt: string, lockedUntil: string];
  /**
   * The number of jobs that were run after another session opened a snapshot, which keeps their dead rows in the table.
   */
  readonly heldFor?: number | undefined;
  /**
   * Whether the leases of those jobs would have expired by now: their dead index entries are then in the range of
   * expired leases.
   */
  readonly isLeaseOver?: boolean | undefined;
  /** Maximum cost of a claim, as a multiple of the empty case. */
  readonly bound: number;
}

// All these rows are due: a claim that does not follow the order of an index would read them all.
const PENDING = ["'pending'", "now() + n * interval '1 microsecond'", "null"] as const;
const DEAD = ["'dead'", "now() - interval '1 day' - n * interval '1 ms'", "null"] as const;
const SCHEDULED = ["'pending'", "now() + interval '1 day' + n * interval '1 ms'", "null"] as const;
const RUNNING = [
  "'running'",
  "now() - interval '1 minute'",
  "now() + interval '1 hour' + n * interval '1 ms'",
] as const;

const BOUND = 2;

/** Returns whether a state has many due rows; a claim that does not follow an index would read them all. */
export function isFullOfDue({ rows, row }: State): boolean {
  return rows > 0 && row === PENDING;
}

/** Returns the states; the first one is the base of the comparison. */
export function statesOf(share: number): readonly State[] {
  const count = (rows: number): number => Math.max(1, Math.round(rows * share));
  const name = (rows: number, what: string): string => `${count(rows)}-${what}`;
  return [
    { name: "empty", rows: 0, row: PENDING, bound: 1 },
    { name: name(1000, "pending"), rows: count(1000), row: PENDING, bound: BOUND },
    { name: name(100_000, "pending"), rows: count(100_000), row: PENDING, bound: BOUND },
    { name: name(1_000_000, "pending"), rows: count(1_000_000), row: PENDING, bound: BOUND },
    { name: name(250_000, "dead"), rows: count(250_000), row: DEAD, bound: BOUND },
    { name: name(250_000, "scheduled"), rows: count(250_000), row: SCHEDULED, bound: BOUND },
    { name: name(5000, "running"), rows: count(5000), row: RUNNING, bound: BOUND },
    { name: "old-snapshot", rows: 0, row: PENDING, heldFor: count(30_000), bound: 3 },
    {
      name: "old-snapshot-leases",
      rows: 0,
      row: PENDING,
      heldFor: count(30_000),
      isLeaseOver: true,
      bound: 3,
    },
  ];
}

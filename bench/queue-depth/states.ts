/** What is in the table beside the jobs that are claimed. */
export interface State {
  readonly name: string;
  /** How many rows lie there. */
  readonly rows: number;
  /** The values of `status`, `available_at` and `locked_until` of row `n`, as SQL. */
  readonly row: readonly [status: string, availableAt: string, lockedUntil: string];
  /** An open snapshot of somebody else; so many jobs have been worked off since. */
  readonly heldFor?: number | undefined;
  /** The leases of those jobs would have ended by now: what is kept of them lies where ended leases are looked for. */
  readonly isLeaseOver?: boolean | undefined;
  /** What a claim may cost, as a multiple of the empty case. */
  readonly bound: number;
}

// Older than those that are claimed: were they not passed over, each claim would read them all.
const PENDING = ["'pending'", "now() + n * interval '1 microsecond'", "null"] as const;
const DEAD = ["'dead'", "now() - interval '1 day' - n * interval '1 ms'", "null"] as const;
const SCHEDULED = ["'pending'", "now() + interval '1 day' + n * interval '1 ms'", "null"] as const;
const RUNNING = [
  "'running'",
  "now() - interval '1 minute'",
  "now() + interval '1 hour' + n * interval '1 ms'",
] as const;

const BOUND = 2;

/** A claim that does not follow the order of an index reads them all. */
export function isFullOfDue({ rows, row }: State): boolean {
  return rows > 0 && row === PENDING;
}

/** The first one is what the others are compared with. */
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

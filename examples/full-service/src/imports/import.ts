import type { ValidationIssue } from "@svc/problem";

/** The state of a file. `stalled`: its job is dead until an operator retries it. */
export type ImportState = "queued" | "running" | "stalled" | "done";

/** A row that was not recorded, with its faults. */
export interface ImportFailure {
  /** The number of its first line in the file. */
  readonly line: number;
  readonly errors: readonly Pick<ValidationIssue, "loc" | "msg">[];
}

/** A file of expenses, as clients see it. */
export interface Import {
  readonly id: string;
  readonly state: ImportState;
  /** The number of rows, not counting the header. */
  readonly rows: number;
  /** The number of rows recorded so far. */
  readonly recorded: number;
  readonly failed: number;
  /** The first failed rows, at most {@link shownFailures}. */
  readonly failures: readonly ImportFailure[];
  /** RFC 3339, in UTC. */
  readonly created_at: string;
  readonly finished_at: string | null;
}

/** A pending row of the file. */
export interface StagedRow {
  readonly line: number;
  readonly fields: readonly string[];
}

/** The column names, in the order of the file. */
export type Header = readonly string[];

export const shownFailures = 100;

/** Returns whether a string has the form of an import id. */
export function isImportId(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text);
}

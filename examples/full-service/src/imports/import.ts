import type { ValidationIssue } from "@svc/problem";

/** What has become of a file; `stalled`: its job is dead, until an operator has it tried again. */
export type ImportState = "queued" | "running" | "stalled" | "done";

/** A row that was not recorded, and why. */
export interface ImportFailure {
  /** The line of the file on which it begins. */
  readonly line: number;
  readonly errors: readonly Pick<ValidationIssue, "loc" | "msg">[];
}

/** A file of expenses, as clients see it. */
export interface Import {
  readonly id: string;
  readonly state: ImportState;
  /** How many rows the file has, the header apart. */
  readonly rows: number;
  /** How many of them are expenses by now. */
  readonly recorded: number;
  readonly failed: number;
  /** The first of those that failed, at most {@link shownFailures}. */
  readonly failures: readonly ImportFailure[];
  /** RFC 3339, in UTC. */
  readonly created_at: string;
  readonly finished_at: string | null;
}

/** A row as it stands in the file, until the job comes to it. */
export interface StagedRow {
  readonly line: number;
  readonly fields: readonly string[];
}

/** The names of the fields, in the order of the file. */
export type Header = readonly string[];

export const shownFailures = 100;

/** Whether a text can be the id of an import at all. */
export function isImportId(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text);
}

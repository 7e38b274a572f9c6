import { resets, setLocal, type Settings } from "./settings.ts";

/** The settings of a transaction that determine its statements. */
export interface Plan {
  readonly begin: string;
  /** Whether a savepoint may replace `begin`. */
  readonly nestable: boolean;
  readonly retries: number;
  readonly settings?: Settings | undefined;
}

/** Statements sent before and after the work. */
export interface Statements {
  readonly begin: string;
  readonly commit: string;
  readonly rollback: readonly string[];
  /** Whether the transaction may be open although `begin` failed. */
  readonly mayHaveBegun: boolean;
}

/**
 * Returns the statements of a transaction. Several statements without parameters are sent as one query, in one round trip.
 */
export function whole({ begin, settings }: Plan, pooled: boolean): Statements {
  if (settings === undefined) {
    return { begin, commit: "commit", rollback: ["rollback"], mayHaveBegun: false };
  }
  const after = pooled ? resets(settings) : [];
  return {
    begin: [begin, ...setLocal(settings)].join("; "),
    commit: ["commit", ...after].join("; "),
    rollback: [["rollback", ...after].join("; ")],
    mayHaveBegun: true,
  };
}

/** Statements of a savepoint. An inner savepoint hides an outer savepoint of the same name, so one name is enough. */
export const SAVEPOINT: Statements = {
  begin: "savepoint svc",
  commit: "release savepoint svc",
  rollback: ["rollback to savepoint svc", "release savepoint svc"],
  mayHaveBegun: false,
};

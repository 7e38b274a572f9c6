import { resets, setLocal, type Settings } from "./settings.ts";

/** How a transaction is to be run. */
export interface Plan {
  readonly begin: string;
  /** Whether a savepoint may stand in for what `begin` asks for. */
  readonly nestable: boolean;
  readonly retries: number;
  readonly settings?: Settings | undefined;
}

/** What is sent around the work. */
export interface Statements {
  readonly begin: string;
  readonly commit: string;
  readonly rollback: readonly string[];
  /** Whether a `begin` that failed may have begun all the same. */
  readonly mayHaveBegun: boolean;
}

/** Those of a transaction. Several statements without parameters are one query, and one round trip. */
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

/** Those of a savepoint. An inner one hides an outer one of the same name until it is released, so one name is enough. */
export const SAVEPOINT: Statements = {
  begin: "savepoint svc",
  commit: "release savepoint svc",
  rollback: ["rollback to savepoint svc", "release savepoint svc"],
  mayHaveBegun: false,
};

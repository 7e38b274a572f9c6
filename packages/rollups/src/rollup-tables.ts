import type { Logger } from "@svc/context";
import { ConfigurationError } from "@svc/options";
import { atMostEvery, endsWithin, safeLogger } from "@svc/resilience";
import { type Database, qualified, safeErrorText, SchemaError } from "@svc/sql";
import { command, onConnection } from "./connection.ts";
import { cuttable } from "./cuttable.ts";
import { RollupError } from "./errors.ts";
import type { NamedRollup } from "./named-rollups.ts";
import { exists } from "./tables.ts";
import { ensureVerifications } from "./verifications.ts";

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
const WARN_EVERY_MS = 60_000;
// stop() waits no longer than this for an attempt: the statements run in a transaction, and the next start repeats them.
const STOP_MS = 1000;

/** Creates the tables of rollups, and retries while some of them cannot be created. */
export interface RollupTables {
  /**
   * Creates the tables of one rollup. Resolves even if they cannot be created yet, so that nothing else waits for them.
   *
   * @throws ConfigurationError at the first attempt, if the definition does not fit the database
   */
  ensure(rollup: NamedRollup): Promise<void>;
  /** Returns the reason why a rollup has no tables; undefined if it has them. */
  faultOf(this: void, name: string): string | undefined;
  /** Starts the retries. */
  start(): void;
  stop(): Promise<void>;
}

/** Options of {@link createRollupTables}. */
export interface RollupTablesOptions {
  readonly rollups: readonly NamedRollup[];
  readonly db: Database;
  /** Whether to create the table of verifications as well. */
  readonly isVerified: boolean;
  readonly logger: Logger | undefined;
}

export function createRollupTables({
  rollups,
  db: given,
  isVerified,
  logger,
}: RollupTablesOptions): RollupTables {
  const { db, cut } = cuttable(given);
  const faults = new Map(rollups.map(({ name }) => [name, "its tables are not created yet"]));
  const attempted = new Set<string>();
  const log = safeLogger(logger);
  const warn = atMostEvery(WARN_EVERY_MS, () =>
    log?.warn(
      { reasons: Object.fromEntries(faults) },
      "the tables of some rollups cannot be created; retrying",
    ),
  );
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  let isStopped = false;

  async function ensure({ name, rollup, definition }: NamedRollup): Promise<void> {
    const isFirst = !attempted.has(name);
    attempted.add(name);
    try {
      // Create this table first, because a verification also reports a missing source.
      if (isVerified) await ensureVerifications(db, definition);
      // An application may create its tables later than the service creates these.
      const { givenSource, source, tenantTable } = definition;
      const deadline = command(definition, "ensureSchema()");
      const isPresent = (table: string): Promise<boolean> =>
        onConnection(db, deadline, (connection) => exists(connection, table));
      if (!(await isPresent(source))) throw new MissingTable(`the source ${givenSource}`);
      await rollup.ensureSchema(db);
      if (tenantTable !== undefined && !(await isPresent(qualified(tenantTable))))
        throw new MissingTable(`the table ${tenantTable} of source.tenantTable`);
      faults.delete(name);
    } catch (error) {
      faults.set(name, textOf(error));
      if (!isFirst || !isWrong(error)) return;
      const key = `rollups.${name}`;
      throw new ConfigurationError(
        "the service",
        linesOf(error).map((message) => ({ key, message })),
      );
    }
  }

  async function retry(pauseMs: number): Promise<void> {
    for (const each of rollups.filter(({ name }) => faults.has(name))) {
      if (isStopped) return;
      await ensure(each);
    }
    if (faults.size === 0 || isStopped) return;
    warn();
    timer = setTimeout(() => {
      running = retry(Math.min(2 * pauseMs, LONGEST_PAUSE_MS));
    }, pauseMs).unref();
  }

  return {
    ensure,
    faultOf: (name) => faults.get(name),
    start() {
      running = retry(FIRST_PAUSE_MS);
    },
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      if (!(await endsWithin(STOP_MS, running))) cut();
    },
  };
}

class MissingTable extends Error {
  constructor(what: string) {
    super(`${what} is missing: create it`);
  }
}

/** Returns whether the definition does not fit the database, so that a later attempt would fail as well. */
function isWrong(error: unknown): boolean {
  return error instanceof RollupError || error instanceof SchemaError;
}

function linesOf(error: unknown): readonly string[] {
  return error instanceof SchemaError ? error.faults : [textOf(error)];
}

function textOf(error: unknown): string {
  if (error instanceof SchemaError) return error.faults.join("; ");
  const isOwn = error instanceof RollupError || error instanceof MissingTable;
  return isOwn ? error.message : `the database does not answer (${safeErrorText(error)})`;
}

import { bounded } from "./bounded.ts";
import { inspect } from "./catalogue.ts";
import { sqlStateOf } from "./error-class.ts";
import { SchemaError } from "./errors.ts";
import { withLentConnection } from "./lend.ts";
import { type Database, isPool, type Queryable } from "./queryable.ts";
import { type ResolvedSchema, resolveSchema, type SchemaOptions } from "./schema-options.ts";
import { runTransaction } from "./transaction.ts";

// SQLSTATEs when a session that does not hold our lock has created the same object concurrently. 23505: two concurrent
// `create ... if not exists`; the other states: a plain `create`.
const MADE_MEANWHILE: ReadonlySet<string | undefined> = new Set(["23505", "42P06", "42P07", "42710"]);
const ROUNDS = 3;

/**
 * Creates the missing parts of a schema, and does not touch a complete schema.
 *
 * Reads the catalogue first. If nothing is missing, it takes no lock above ACCESS SHARE and no advisory lock, and opens no
 * transaction (JOB-29). Otherwise it takes an advisory lock on the schema's name, reads the catalogue again and runs all
 * statements in one transaction, so any number of processes may call it concurrently. On a connection with an open transaction,
 * everything runs inside that transaction, and the lock lasts until its end.
 *
 * @returns `present` when nothing was missing, `created` when this call ran the statements
 * @throws SchemaError when a table has different columns or its name belongs to another kind of relation (nothing is
 *   altered), or when something is still missing after the statements (they are rolled back)
 * @throws SqlDeadlineError when the database does not respond
 * @throws OptionError, IdentifierError
 */
export async function ensureSchema(db: Database, options: SchemaOptions): Promise<"present" | "created"> {
  const schema = resolveSchema(options);
  const operation = `ensureSchema() of ${schema.name}`;
  const asked = bounded(db, { operation, timeoutMs: schema.commandTimeoutMs });
  const made = bounded(db, { operation, timeoutMs: schema.maintenanceTimeoutMs });
  for (let round = 1; ; round++) {
    if (await isComplete(asked, schema)) return "present";
    try {
      return await runTransaction(made, (tx) => createMissing(tx, schema), {
        // READ COMMITTED: a snapshot taken after the lock sees what other processes created. READ WRITE: the statements write.
        begin: "begin isolation level read committed read write",
        nestable: true,
        retries: 0,
      });
    } catch (error) {
      if (round === ROUNDS || !MADE_MEANWHILE.has(sqlStateOf(error))) throw error;
    }
  }
}

async function createMissing(tx: Queryable, schema: ResolvedSchema): Promise<"present" | "created"> {
  const before = await lockTimeout(tx);
  await setLockTimeout(tx, String(schema.lockTimeoutMs));
  await tx.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [lockName(schema.name)]);
  const present = await isCompleteOn(tx, schema);
  if (!present) {
    for (const statement of schema.statements) await tx.query(statement);
    const { missing, unmet, faults } = await inspect(tx, schema);
    const all = [
      ...missing.map((each) => `${each} is still missing after all statements ran`),
      ...unmet,
      ...faults,
    ];
    if (all.length > 0) throw new SchemaError(schema.name, all);
  }
  // The transaction may belong to the caller and continue, so restore its lock_timeout.
  await setLockTimeout(tx, before);
  return present ? "present" : "created";
}

async function lockTimeout(tx: Queryable): Promise<string> {
  const { rows } = await tx.query<{ value: string }>("select current_setting('lock_timeout') as value");
  return rows[0]?.value ?? "0";
}

async function setLockTimeout(tx: Queryable, value: string): Promise<void> {
  await tx.query("select set_config('lock_timeout', $1, true)", [value]);
}

/** Returns the key of a schema's advisory lock, which `hashtextextended(..., 0)` then hashes. */
function lockName(name: string): string {
  return `svc/schema/${name}`;
}

function isComplete(db: Database, schema: ResolvedSchema): Promise<boolean> {
  if (!isPool(db)) return isCompleteOn(db, schema);
  return withLentConnection(db, (connection) => isCompleteOn(connection, schema));
}

async function isCompleteOn(db: Queryable, schema: ResolvedSchema): Promise<boolean> {
  const { missing, unmet, faults } = await inspect(db, schema);
  if (faults.length > 0) throw new SchemaError(schema.name, faults);
  return missing.length === 0 && unmet.length === 0;
}

import {
  type Frame,
  isBesideAnother,
  loseTransaction,
  openFrame,
  original,
  type Queryable,
  TransactionError,
} from "@svc/sql";
import { ending, type Ending, modeOfBegin } from "./transaction-control.ts";

/** Sends a statement: its text or an object as `pg` takes it, with its parameters. */
export type Send = (statement: unknown, values?: unknown[]) => Promise<unknown>;

const SAVEPOINT = "svc_mapper";
const CONTROL: ReadonlySet<unknown> = new Set(["BEGIN", "START TRANSACTION", "COMMIT"]);

/** A connection inside an open transaction, on which a data mapper may begin its own. */
interface Nested {
  readonly query: Send;
  readonly release: () => void;
}

interface Owner extends Nested {
  /** Returns whether the transaction around the mapper's transaction has ended. */
  readonly isOver: () => boolean;
}

// Maps a connection that is inside a data mapper's own transaction to the nested connection that began it.
const owners = new WeakMap<Queryable, Owner>();

/**
 * Returns a connection inside an open transaction. Its `begin`, `commit` and `rollback` become statements of a savepoint, because
 * `commit` would end the open transaction, and with it the tenant.
 *
 * @param tx a connection with an open transaction
 */
export function savepoints(tx: Queryable): Nested {
  const connection = original(tx);
  let frame: Frame | undefined;
  let hasFailed = false;

  function begin(mode: string): Promise<unknown> {
    if (mode.trim() !== "") {
      throw new TransactionError("the options of a transaction cannot change inside an open transaction");
    }
    if (owners.get(connection)?.isOver() === false) {
      throw new TransactionError(
        "two transactions of a data mapper overlap in one transaction: await the first",
      );
    }
    if (isBesideAnother(connection)) throw overlapping();
    owners.set(connection, self);
    return enter();
  }

  async function enter(): Promise<unknown> {
    try {
      const answer = await send(`savepoint ${SAVEPOINT}`);
      // The other transaction may have begun in the meantime.
      if (isBesideAnother(connection)) {
        await send(`release savepoint ${SAVEPOINT}`);
        throw overlapping();
      }
      frame = openFrame(connection);
      return answer;
    } catch (error) {
      leave();
      throw error;
    }
  }

  async function end({ isCommit, isChain }: Ending): Promise<unknown> {
    if (owners.get(connection) !== self || frame === undefined || isChain) {
      throw new TransactionError("a data mapper must not end the transaction that it was given");
    }
    const isRefused = frame.overlaps() && (isCommit || !frame.isInnermost());
    if (isRefused) {
      // A rollback would undo, or a commit would keep, statements of the other transaction; the outermost one rolls back.
      if (!isCommit) leave();
      throw overlapping();
    }
    if (!isCommit) await send(`rollback to savepoint ${SAVEPOINT}`);
    const answer = await send(`release savepoint ${SAVEPOINT}`);
    leave();
    return answer;
  }

  function leave(): void {
    if (owners.get(connection) === self) owners.delete(connection);
    frame?.leave();
    frame = undefined;
  }

  async function send(statement: unknown, values?: unknown[]): Promise<unknown> {
    if (hasFailed) {
      // After an error, the driver may not have received the new transaction status yet. An empty statement waits for it;
      // PostgreSQL accepts one even in a failed transaction.
      if (statusOf(tx) === "T") await tx.query("");
      checkOpen(tx, undefined);
    }
    let answer;
    try {
      answer = await tx.query(statement as string, values);
    } catch (error) {
      hasFailed = true;
      throw error;
    }
    hasFailed = false;
    checkOpen(tx, answer);
    return answer;
  }

  const isOver = (): boolean => frame?.isOver === true;

  const self: Owner = {
    isOver,
    async query(statement, values) {
      if (isOver()) throw overlapping();
      const mode = modeOfBegin(statement);
      if (mode !== undefined) return begin(mode);
      const found = ending(statement);
      return found === undefined ? send(statement, values) : end(found);
    },
    release() {
      // Keep the frame of an open transaction inside another one: the outer one then detects the overlap and rolls back.
      if (frame?.isInner !== true) leave();
    },
  };
  return self;
}

function overlapping(): TransactionError {
  return new TransactionError(
    "a transaction of a data mapper and another one overlap on one connection: await one before the next begins",
  );
}

/**
 * @param answer the response to the last statement
 * @throws TransactionError when a statement has ended the transaction that the data mapper was given
 */
function checkOpen(tx: Queryable, answer: unknown): void {
  if (statusOf(tx) !== "I" && !(Array.isArray(answer) && answer.some(isControl))) return;
  const error = new TransactionError(
    "a statement of a data mapper ended the transaction around it: earlier statements may be committed; do not send COMMIT or ROLLBACK through the data mapper",
  );
  loseTransaction(tx, error);
  throw error;
}

/** Returns `I` outside a transaction, `T` inside one, `E` inside a failed one; undefined if the driver does not report it. */
function statusOf(tx: Queryable): unknown {
  return (tx as { getTransactionStatus?: () => unknown }).getTransactionStatus?.();
}

// Drivers return a list of results for several statements in one text.
function isControl(result: unknown): boolean {
  return CONTROL.has((result as { readonly command?: unknown } | null)?.command);
}

import { AsyncLocalStorage } from "node:async_hooks";
import type { TransactionError } from "./errors.ts";
import { original, type Queryable } from "./queryable.ts";

/** A transaction or savepoint that is open on a connection. */
export interface Frame {
  /** Set when other code has ended the whole transaction: nothing that follows would belong to it. */
  readonly lost: TransactionError | undefined;
  /** Whether this transaction has ended. A savepoint of other code also ends with the transaction around it. */
  readonly isOver: boolean;
  /** Whether another transaction is recorded around this one. */
  readonly isInner: boolean;
  /** Returns whether no other transaction was opened on the connection after this one and is still open. */
  isInnermost(): boolean;
  /**
   * Returns whether another transaction on the connection overlaps this one without being nested in it, and then records
   * this for all open transactions, so that none of them commits. The transaction that ends last rolls back: an earlier
   * rollback would make the other transaction's next statements commit individually.
   */
  overlaps(): boolean;
  /** Records the end of this transaction. */
  leave(): void;
}

/** A transaction or savepoint of this package. */
export interface OwnFrame extends Frame {
  /** Runs the work of the transaction. */
  run<T>(work: () => T): T;
  /**
   * Records the end of savepoints of other code that are still open inside this transaction, because that code may never
   * end them. Call `overlaps()` first, and `leave()` afterwards.
   */
  endInner(): void;
}

interface Entry {
  readonly key: Queryable;
  readonly outer: Entry | undefined;
  /** Whether code outside this package opened it. */
  readonly isForeign: boolean;
  ended: boolean;
  /** Whether an outer transaction ended before this one, or an inner transaction was still open when this one ended. */
  overlapped: boolean;
  lost: TransactionError | undefined;
}

// The innermost transaction on a connection; keyed by connection, since callers pass connections around.
const innermost = new WeakMap<Queryable, Entry>();
// The transaction in whose `run()` the current code is executed.
const around = new AsyncLocalStorage<Entry>();

/** Records that code outside this package opened a savepoint on a connection. */
export function openFrame(connection: Queryable): Frame {
  return openEntry(connection, true);
}

/** Records that this package opened a transaction or savepoint on a connection. */
export function openOwnFrame(connection: Queryable): OwnFrame {
  return openEntry(connection, false);
}

function openEntry(connection: Queryable, isForeign: boolean): OwnFrame {
  const key = original(connection);
  const outer = innermost.get(key);
  const entry: Entry = { key, outer, isForeign, ended: false, overlapped: false, lost: undefined };
  innermost.set(key, entry);

  const isInnermost = (): boolean => innermost.get(key) === entry;

  return {
    get lost() {
      return entry.lost;
    },
    get isOver() {
      return entry.ended;
    },
    isInner: outer !== undefined,
    run: (work) => around.run(entry, work),
    endInner() {
      let top = innermost.get(key);
      for (; top !== undefined && top !== entry && top.isForeign; top = top.outer) top.ended = true;
      if (top !== undefined) innermost.set(key, top);
    },
    isInnermost,
    overlaps() {
      if (!isInnermost()) for (const each of open(key)) each.overlapped = true;
      return entry.overlapped;
    },
    leave() {
      entry.ended = true;
      let top = innermost.get(key);
      while (top?.ended === true) top = top.outer;
      if (top === undefined) innermost.delete(key);
      else innermost.set(key, top);
    },
  };
}

/** Returns whether a transaction is recorded as open on a connection. */
export function hasFrame(connection: Queryable): boolean {
  return innermost.has(original(connection));
}

/**
 * Returns whether the caller runs in an open transaction that is not the innermost one on the connection. A transaction that the
 * caller opens now would be nested in the innermost one instead of the caller's.
 */
export function isBesideAnother(connection: Queryable): boolean {
  const key = original(connection);
  const own = around.getStore();
  return own !== undefined && own.key === key && !own.ended && innermost.get(key) !== own;
}

/** Records that a connection's whole transaction was ended by other code: every call that opened one then rejects. */
export function loseTransaction(connection: Queryable, error: TransactionError): void {
  for (const each of open(original(connection))) each.lost ??= error;
}

function* open(key: Queryable): Generator<Entry> {
  for (let each = innermost.get(key); each !== undefined; each = each.outer) yield each;
}

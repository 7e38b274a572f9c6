import { TransactionError } from "@svc/sql";

/** Sends a statement: its text or an object as `pg` takes it, with its parameters. */
export type Send = (statement: unknown, values?: unknown[]) => Promise<unknown>;

const SAVEPOINT = "svc_mapper";
const BEGIN = /^\s*(?:begin|start\s+transaction)\b(?:\s+(?:transaction|work)\b)?([^;]*);?\s*$/i;
const END = /^\s*(?:(commit|end)|rollback|abort)\b(?:\s+(?:transaction|work)\b)?\s*;?\s*$/i;

/** A connection inside an open transaction, on which a data mapper may begin its own. */
interface Nested {
  readonly query: Send;
  readonly release: () => void;
}

/**
 * Returns a function that lends connections inside an open transaction. `begin`, `commit` and `rollback` become statements of a
 * savepoint, because `commit` would end the open transaction, and with it the tenant.
 *
 * @param send sends a statement in the open transaction
 */
export function savepoints(send: Send): () => Nested {
  let owner: object | undefined;

  return () => {
    const self = {};

    function begin(mode: string): Promise<unknown> {
      if (mode.trim() !== "") {
        throw new TransactionError("the options of a transaction cannot change inside an open transaction");
      }
      if (owner !== undefined) {
        throw new TransactionError(
          "two transactions of a data mapper overlap in one transaction: await the first",
        );
      }
      owner = self;
      return send(`savepoint ${SAVEPOINT}`);
    }

    async function end(isCommit: boolean): Promise<unknown> {
      if (owner !== self) {
        throw new TransactionError("a data mapper must not end the transaction that it was given");
      }
      if (!isCommit) await send(`rollback to savepoint ${SAVEPOINT}`);
      const answer = await send(`release savepoint ${SAVEPOINT}`);
      owner = undefined;
      return answer;
    }

    return {
      async query(statement, values) {
        const text = textOf(statement);
        const mode = BEGIN.exec(text)?.[1];
        if (mode !== undefined) return begin(mode);
        const ending = END.exec(text);
        return ending === null ? send(statement, values) : end(ending[1] !== undefined);
      },
      release() {
        if (owner === self) owner = undefined;
      },
    };
  };
}

/** Returns whether a statement begins or ends a transaction. */
export function isTransactionControl(statement: unknown): boolean {
  const text = textOf(statement);
  return BEGIN.test(text) || END.test(text);
}

function textOf(statement: unknown): string {
  if (typeof statement === "string") return statement;
  const { text } = Object(statement) as { readonly text?: unknown };
  return typeof text === "string" ? text : "";
}

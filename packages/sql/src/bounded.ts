import { type Deadline, SqlDeadlineError } from "./deadline-error.ts";
import { close } from "./lend.ts";
import { answerOfCaller, lendWithin, queryWithin, stuckOn, within } from "./query-within.ts";
import {
  type Connectable,
  type Database,
  isPool,
  type PooledConnection,
  type Queryable,
} from "./queryable.ts";
import { withMethods } from "./with-methods.ts";

/** The state of one call that sends several statements. */
interface Call {
  readonly deadline: Deadline;
  /** Set once the deadline has passed; nothing more is sent then. */
  error: SqlDeadlineError | undefined;
}

type Wait = <T>(something: Promise<T>) => Promise<T>;
const waits = new WeakMap<Queryable, Wait>();

/**
 * Returns a wrapper of a database for one call that sends several statements; each wait for a connection or a response
 * ends at the deadline. After a missed deadline nothing more is sent: every further statement of the call, including a
 * commit or rollback, is rejected with the same error. Connections are treated as `queryWithin` treats them. All other
 * members of the database are unchanged.
 */
export function bounded<D extends Database>(db: D, deadline: Deadline): D {
  const call: Call = { deadline, error: undefined };
  if (!isPool(db)) return guardConnection(db as D & Queryable, call);
  return withMethods(db, {
    connect: () => connect(db, call),
    query: (text: string, values?: unknown[]) =>
      call.error === undefined ? queryWithin(db, deadline, text, values) : Promise.reject(call.error),
  });
}

/**
 * Waits for other work on a connection from {@link bounded}, such as a stream, with the same deadline as for a
 * response.
 */
export function inTime<T>(connection: Queryable, something: Promise<T>): Promise<T> {
  const wait = waits.get(connection);
  return wait === undefined ? something : wait(something);
}

async function connect(pool: Connectable, call: Call): Promise<PooledConnection> {
  if (call.error !== undefined) throw call.error;
  const connection = await lendWithin(pool, call.deadline, (error) => {
    call.error = error;
  });
  let released = false;
  return guardConnection(connection, call, (error) => {
    if (released) return;
    released = true;
    // After a missed deadline nothing more is sent, so an open transaction could not be rolled back: close the connection.
    if (call.error === undefined) connection.release(error);
    else close(connection, call.error);
  });
}

/** @param release set for a connection from a pool; otherwise the connection belongs to the caller */
function guardConnection<C extends Queryable>(
  connection: C,
  call: Call,
  release?: (error?: Error | boolean) => void,
): C {
  const { deadline } = call;
  const onDeadline = (error: SqlDeadlineError): void => {
    call.error = error;
    release?.();
  };
  const wait: Wait = (something) => {
    if (call.error === undefined) {
      return release === undefined
        ? answerOfCaller(connection, deadline, () => something, onDeadline)
        : within(deadline, "answer", something, onDeadline);
    }
    something.catch(() => undefined);
    return Promise.reject(call.error);
  };
  const guarded = withMethods(connection, {
    ...(release === undefined ? {} : { release }),
    query(text: string, values?: unknown[]) {
      if (call.error !== undefined) return Promise.reject(call.error);
      // PostgreSQL would still execute this statement after the pending one.
      if (stuckOn(connection) !== undefined) return Promise.reject(new SqlDeadlineError(deadline, "stuck"));
      const answer = connection.query(text, values);
      // For a stream (COPY) the driver returns the stream, not a promise: callers wait for it with `inTime()`.
      return isPromise(answer) ? wait(answer) : answer;
    },
  });
  waits.set(guarded, wait);
  return guarded;
}

function isPromise(answer: unknown): answer is Promise<unknown> {
  return typeof (answer as Partial<Promise<unknown>> | null)?.then === "function";
}

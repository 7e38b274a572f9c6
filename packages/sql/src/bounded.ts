import { type Deadline, SqlDeadlineError } from "./deadline-error.ts";
import { standsFor } from "./original.ts";
import { answerOfCaller, close, lendWithin, queryWithin, stuckOn, within } from "./query-within.ts";
import {
  type Connectable,
  type Database,
  isPool,
  type PooledConnection,
  type Queryable,
} from "./queryable.ts";

/** One call of several statements. */
interface Call {
  readonly deadline: Deadline;
  /** Why nothing more is sent. */
  error: SqlDeadlineError | undefined;
}

type Wait = <T>(something: Promise<T>) => Promise<T>;
const waits = new WeakMap<Queryable, Wait>();

/**
 * The same database for one call of several statements: each wait for a connection or an answer has the time of the deadline.
 * After a deadline nothing more is sent: every further statement of the call is rejected with the same error, also a commit or
 * rollback. Connections are treated as `queryWithin` treats them. Everything else of the database is as it was.
 */
export function bounded<D extends Database>(db: D, deadline: Deadline): D {
  const call: Call = { deadline, error: undefined };
  if (!isPool(db)) return guardConnection(db as D & Queryable, call);
  return guard(db, {
    connect: () => connect(db, call),
    query: (text: string, values?: unknown[]) =>
      call.error === undefined ? queryWithin(db, deadline, text, values) : Promise.reject(call.error),
  });
}

/** Waits for something that a connection of {@link bounded} does beside answering, a stream say, as long as for an answer. */
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
    // Nothing more is sent in the call: a transaction on it could not be rolled back.
    if (call.error === undefined) connection.release(error);
    else close(connection, call.error);
  });
}

/** @param release of a connection that a pool has lent; without it the connection is the caller's */
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
  const guarded = guard(connection, {
    ...(release === undefined ? {} : { release }),
    query(text: string, values?: unknown[]) {
      if (call.error !== undefined) return Promise.reject(call.error);
      // Once sent it would be carried out behind the statement that is not answered.
      if (stuckOn(connection) !== undefined) return Promise.reject(new SqlDeadlineError(deadline, "stuck"));
      const answer = connection.query(text, values);
      // A driver answers a stream (COPY) with the stream itself: `inTime` bounds its parts.
      return isPromise(answer) ? wait(answer) : answer;
    },
  });
  waits.set(guarded, wait);
  return guarded;
}

/** The same object with other methods. Its own work on the object itself, which may have private members. */
function guard<D extends Database>(db: D, methods: object): D {
  return standsFor(
    new Proxy(db, {
      get(target, key) {
        if (Object.hasOwn(methods, key)) return Reflect.get(methods, key) as unknown;
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    }),
    db,
  );
}

function isPromise(answer: unknown): answer is Promise<unknown> {
  return typeof (answer as Partial<Promise<unknown>> | null)?.then === "function";
}

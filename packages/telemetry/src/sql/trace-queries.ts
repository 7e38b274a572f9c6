import { isThenable } from "@svc/resilience";
import { safeErrorText, sqlStateOf, takesPlanned } from "@svc/sql";
import type { StartedSpan, StatementSpans } from "../started-span.ts";
import { bindWaiting, type Method, type PgClient, type PgPool, poolOf, type TracedPool } from "./pg-pool.ts";
import { createSpanOfStatement } from "./span-of-statement.ts";

export type { TracedPool } from "./pg-pool.ts";

export interface QueryTracerOptions {
  readonly spans: StatementSpans;
  /** Whether spans have the attribute `db.statement`: the text with `?` for each value. */
  readonly recordStatement: boolean;
  /** Receives the errors of the tracing itself, which never reach the application. */
  readonly logFailure: (error: unknown) => void;
  /** Returns false when no span would start; the text is not analysed then. Default: always true. */
  readonly isTracing?: (() => boolean) | undefined;
}

/** A statement that handles the server's messages itself, such as a cursor. */
interface Submittable {
  handleError: Method;
  handleReadyForQuery: Method;
}

/**
 * Returns a function that traces all statements on a `pg` pool (TRACE-8). A connection that is in use is traced once it
 * is acquired again. Statements, results and errors are unchanged, and the tracing never makes a statement fail
 * (TRACE-21). The function throws a TypeError for any other value, and ignores a pool that it traces already.
 */
export function createQueryTracer(options: QueryTracerOptions): (target: TracedPool) => void {
  const { spans, logFailure, isTracing = () => true } = options;
  const spanOfStatement = createSpanOfStatement(options.recordStatement);
  const pools = new WeakSet<PgPool>();
  const clients = new WeakSet<PgClient>();
  const unfinished = new WeakMap<PgClient, Set<StartedSpan>>();

  /** Runs tracing code, and reports its error instead of throwing it. */
  function attempt<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      logFailure(error);
      return undefined;
    }
  }

  function traceClient(client: PgClient): void {
    if (clients.has(client)) return;
    clients.add(client);
    const isWrapped = Object.hasOwn(client, "query");
    // A method of another wrapper may accept only SQL text.
    if (!isWrapped) takesPlanned(client as never, client);
    // An instrumentation stores the driver's original method in this property.
    const value = tracedQuery(client.query, isWrapped || "__original" in client.query);
    Object.defineProperty(client, "query", { value, writable: true, configurable: true });
  }

  /**
   * @param isWrapped whether the method belongs to another wrapper, which must not create a second span. The driver itself
   *   needs no context, and entering one for each statement would add a tenth to the cost of its span.
   */
  function tracedQuery(query: Method, isWrapped: boolean): Method {
    return function (this: unknown, ...args) {
      const client = this as PgClient;
      const span = attempt(() => startSpan(client, args[0]));
      if (span === undefined) return query.apply(client, args);
      const watched = attempt(() => watch(client, args, span));
      const send = (): unknown => query.apply(client, watched ?? args);
      let result: unknown;
      try {
        result = isWrapped ? span.within(send) : send();
      } catch (error) {
        failed(span, error);
        throw error;
      }
      if (watched !== undefined) return result;
      if (!isThenable(result)) {
        span.end();
        return result;
      }
      // Return the derived promise: a listener on the original one would hide an unhandled rejection.
      return result.then(
        (value: unknown) => {
          succeeded(span, value);
          return value;
        },
        (error: unknown) => {
          failed(span, error);
          throw error;
        },
      );
    };
  }

  function startSpan({ database }: PgClient, statement: unknown): StartedSpan | undefined {
    if (!isTracing()) return undefined;
    const { name, attributes } = spanOfStatement(textOf(statement));
    const named = typeof database === "string" ? { ...attributes, "db.name": database } : attributes;
    return spans.startClient(name, named);
  }

  function succeeded(span: StartedSpan, result: unknown): void {
    const rowCount = attempt(() => rowCountOf(result));
    if (rowCount !== undefined) span.set({ "db.rows_affected": rowCount });
    span.end();
  }

  function failed(span: StartedSpan, error: unknown): void {
    const type = attempt(() => sqlStateOf(error) ?? safeErrorText(error));
    if (type !== undefined) span.set({ "error.type": type });
    span.end(true);
  }

  function bind(callback: Method): Method {
    return attempt(() => spans.bind(callback)) ?? callback;
  }

  /** Returns arguments that report the end of the statement; undefined if the statement returns a promise. */
  function watch(client: PgClient, args: readonly unknown[], span: StartedSpan): unknown[] | undefined {
    const [statement, second, third] = args;
    const { submit, callback: own } = Object(statement) as Partial<Record<"submit" | "callback", unknown>>;
    if (typeof submit === "function") {
      watchSubmittable(client, statement as Submittable, span);
      return args.map((each) => (typeof each === "function" ? bind(each as Method) : each));
    }
    // The driver prefers the third argument to the second, and both to the member.
    const at = !third && typeof second === "function" ? 1 : 2;
    const callback = at === 1 ? second : third || own;
    if (typeof callback !== "function") return undefined;
    const bound = bind(callback as Method);
    const sent = [...args];
    sent[at] = function (this: unknown, ...outcome: unknown[]) {
      const [error, result] = outcome;
      if (error) failed(span, error);
      else succeeded(span, result);
      return bound.apply(this, outcome);
    };
    return sent;
  }

  function watchSubmittable(client: PgClient, statement: Submittable, span: StartedSpan): void {
    const open = unfinished.get(client) ?? new Set();
    const { handleError, handleReadyForQuery } = statement;
    // The driver calls one of these methods when the statement ends, even if its connection is lost.
    statement.handleError = function (...args) {
      if (open.delete(span)) failed(span, args[0]);
      return handleError.apply(this, args);
    };
    statement.handleReadyForQuery = function (...args) {
      try {
        return handleReadyForQuery.apply(this, args);
      } finally {
        if (open.delete(span)) span.end();
      }
    };
    unfinished.set(client, open.add(span));
  }

  /** Ends the spans of cursors that were not closed. */
  function onReturned(client: PgClient): void {
    const open = unfinished.get(client);
    for (const span of open ?? []) span.end();
    open?.clear();
  }

  return function traceQueries(target) {
    const pool = poolOf(target);
    if (pools.has(pool)) return;
    pools.add(pool);
    bindWaiting(pool);
    pool.on("acquire", (client) => {
      attempt(() => traceClient(client));
    });
    pool.on("release", (_error, client) => onReturned(client));
    pool.on("remove", onReturned);
  };
}

function rowCountOf(result: unknown): number | undefined {
  const { rowCount } = Object(result) as { readonly rowCount?: unknown };
  return typeof rowCount === "number" ? rowCount : undefined;
}

function textOf(statement: unknown): string {
  if (typeof statement === "string") return statement;
  // A query stream has its text only in its cursor.
  const { text, cursor } = Object(statement) as Partial<Record<"text" | "cursor", unknown>>;
  if (typeof text === "string") return text;
  return cursor === undefined ? "" : textOf(cursor);
}

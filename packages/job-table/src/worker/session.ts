import { withDeadline } from "@svc/resilience";
import {
  type Connectable,
  identifier,
  lend,
  type PooledConnection,
  type QueryResult,
  type Row,
} from "@svc/sql";
import { heardGreeting } from "./greeting.ts";

/** Sends a worker's statements. */
export interface Session {
  /** Sends a statement, after connecting if necessary. `name` identifies the text, independent of the values. */
  query<R extends Row>(name: string, text: string, values: unknown[]): Promise<R[]>;
  /** Whether a second statement may be passed before the first is answered; its time starts when it is sent. */
  readonly queues: boolean;
  /** Whether its own connection is idle. */
  readonly isIdle: boolean;
  close(): void;
}

/** The events of a `pg` connection. */
export interface Emitter {
  on(event: "error" | "notification" | "end", listener: (message?: unknown) => void): unknown;
  removeListener(event: "error", listener: () => void): unknown;
}

/**
 * The server's part of a deadline, so that it stops before the worker gives up and would claim jobs that no worker
 * sees.
 */
export const SERVERS_SHARE = 0.9;

/** Callbacks for the events of a connection. */
export interface Listeners {
  readonly onNotify: () => void;
  /** The announcement to send when connecting, and the listener for those of others. Default: none. */
  readonly greeting?: string | undefined;
  readonly onGreeting?: ((greeting: string) => void) | undefined;
  /** Another process than the one that greeted the driver answers: a pooler shares sessions between clients. */
  readonly onPooler: () => void;
}

interface Prepared {
  readonly name: string;
  readonly text: string;
  readonly values: unknown[];
}

/**
 * Creates a session on its own connection, which listens on a channel if there is one. The connection is closed at the
 * end and after every error, never returned to the pool, so it may have its own settings and prepared statements. Each
 * statement is planned once, because planning costs more than claiming a job. Without sequential scans the plan fits
 * any table size.
 */
export function createOwnSession(
  pool: Connectable,
  channel: string | undefined,
  timeoutMs: number,
  { onNotify, greeting, onGreeting, onPooler }: Listeners,
): Session {
  let current: PooledConnection | undefined;
  let busy = false;
  const waiting: (() => void)[] = [];
  const serverMs = Math.max(1, Math.floor(timeoutMs * SERVERS_SHARE));
  const settings = [
    `set statement_timeout = ${serverMs}`,
    // At a stricter level two sessions that meet on one row would fail.
    "set default_transaction_isolation = 'read committed'",
    "set enable_seqscan = off",
    "set plan_cache_mode = force_generic_plan",
    "set jit = off",
    ...(channel === undefined ? [] : [`listen ${identifier(channel)}`]),
    ...(channel === undefined || greeting === undefined
      ? []
      : [`select pg_notify(${quoted(channel)}, ${quoted(greeting)})`]),
    "select pg_backend_pid() as pid",
  ].join("; ");

  function drop(connection: PooledConnection): void {
    if (current === connection) current = undefined;
    connection.release(new Error("the connection of a worker"));
  }

  async function connect(signal: AbortSignal): Promise<PooledConnection> {
    const connection = await lend(pool);
    if (signal.aborted) {
      connection.release();
      signal.throwIfAborted();
    }
    const emitter = connection as Partial<Emitter>;
    const lost = (): void => {
      if (current !== connection) return;
      drop(connection);
      // Reconnect, and look for jobs whose notification was missed.
      onNotify();
    };
    emitter.on?.("error", lost);
    emitter.on?.("end", lost);
    emitter.on?.("notification", (message) => {
      const heard = heardGreeting(message);
      if (heard === undefined) onNotify();
      else if (heard !== greeting) onGreeting?.(heard);
    });
    current = connection;
    try {
      if (isPooled(connection, await connection.query(settings))) onPooler();
    } catch (error) {
      if (current === connection) drop(connection);
      throw error;
    }
    return connection;
  }

  return {
    queues: true,
    get isIdle() {
      return current !== undefined && !busy;
    },
    async query<R extends Row>(name: string, text: string, values: unknown[]): Promise<R[]> {
      if (busy) await new Promise<void>((resolve) => void waiting.push(resolve));
      busy = true;
      let used: PooledConnection | undefined = current;
      try {
        return await withDeadline(timeoutMs, async (signal) => {
          used ??= await connect(signal);
          return send(used, name, text, values);
        });
      } catch (error) {
        // Also after a timeout: a late answer would be taken for that of the next statement.
        if (current !== undefined && (used === undefined || used === current)) drop(current);
        throw error;
      } finally {
        // Send the next statement before the caller handles this answer.
        const next = waiting.shift();
        if (next === undefined) busy = false;
        else next();
      }
    },
    close() {
      if (current !== undefined) drop(current);
    },
  };
}

/** Quotes a text literal, for any setting of `standard_conforming_strings`. */
function quoted(text: string): string {
  return `E'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}

/** Whether another server process answers than the one that greeted, as behind a pooler. */
function isPooled(connection: object, answers: unknown): boolean {
  const { processID } = connection as { readonly processID?: unknown };
  const last = (Array.isArray(answers) ? answers.at(-1) : answers) as Partial<QueryResult<Row>> | undefined;
  const pid = last?.rows?.[0]?.["pid"];
  return typeof processID === "number" && typeof pid === "number" && processID !== pid;
}

async function send<R extends Row>(
  connection: PooledConnection,
  name: string,
  text: string,
  values: unknown[],
): Promise<R[]> {
  // Drivers other than `pg` take only a text.
  if (typeof (connection as Partial<Emitter>).on !== "function") {
    return (await connection.query<R>(text, values)).rows;
  }
  const { query } = connection as { readonly query: unknown };
  const prepared: Prepared = { name, text, values: values.map(asText) };
  const answer: unknown = await (query as (this: unknown, statement: Prepared) => Promise<unknown>).call(
    connection,
    prepared,
  );
  return (answer as { readonly rows: R[] }).rows;
}

/** Formats a long list as an array literal, faster than the driver does. */
function asText(value: unknown): unknown {
  if (!Array.isArray(value) || value.length === 0) return value;
  const list: readonly unknown[] = value;
  if (list.every((each) => typeof each === "number" || typeof each === "boolean"))
    return `{${list.join(",")}}`;
  // Leave texts that need escaping to the driver.
  return list.every((each) => typeof each === "string" && !/["\\]/.test(each))
    ? `{"${list.join('","')}"}`
    : value;
}

import { backoff, withDeadline } from "@svc/resilience";
import {
  type Connectable,
  type Database,
  isPool,
  lend,
  type PooledConnection,
  type QueryResult,
  queryWithin,
  type Row,
} from "@svc/sql";
import { createHash } from "node:crypto";

/** Returns the milliseconds until the next retry after this many failures. */
export const retryDelay: (failures: number) => number = backoff({ baseMs: 100, maxMs: 5000, minMs: 50 });

export interface Session {
  /**
   * Sends a statement, after connecting if necessary. `name` identifies the text, independent of the values; with an
   * empty name the statement is not prepared.
   */
  query<R extends Row>(name: string, text: string, values: unknown[]): Promise<R[]>;
  /** Whether it sends one statement at a time and queues the others; the deadline of each starts when it is sent. */
  readonly queues: boolean;
  /** Whether the session's own connection is open. */
  readonly isOpen: boolean;
  readonly isIdle: boolean;
  close(): void;
}

export interface OwnSession extends Session {
  /** When the last statement was sent, by `performance.now()`. */
  readonly sentAt: number;
  /** Whether the connection listens and can deliver notifications. */
  readonly hears: boolean;
}

/** Creates a session that sends each statement on any connection to the table's database. */
export function createPoolSession(db: Database, timeoutMs: number): Session {
  const deadline = { operation: "a statement of the worker", timeoutMs };
  return {
    queues: false,
    isOpen: false,
    isIdle: false,
    query: async <R extends Row>(_name: string, text: string, values: unknown[]) =>
      (await queryWithin<R>(db, deadline, text, values)).rows,
    close: () => undefined,
  };
}

/** Returns the pool whose connections emit notifications; undefined without such a pool. */
export function listeningPool(db: Database): Connectable | undefined {
  // The connections of a database from `@svc/database` are wrapped and emit no notifications; those of its inner pool do.
  const { pool } = db as { readonly pool?: unknown };
  if (typeof pool === "object" && pool !== null && isPool(pool as Database)) return pool as Connectable;
  return isPool(db) ? db : undefined;
}

// A worker needs two connections; this number remains for its handlers and other callers.
const SPARE = 4;

/** Returns whether a pool is large enough for a worker to keep a second connection. */
export function isLarge(pool: Connectable): boolean {
  return (sizeOf(pool) ?? 0) >= SPARE + 2;
}

/** Returns the maximum size of a pool; undefined if it is unknown. */
export function sizeOf(pool: Connectable): number | undefined {
  const { options } = pool as { readonly options?: { readonly max?: unknown } };
  return typeof options?.max === "number" ? options.max : undefined;
}

/**
 * Share of a deadline after which the server cancels a statement, so that it cannot claim jobs for a worker that has
 * timed out.
 */
export const SERVERS_SHARE = 0.9;

/** Statements that take longer than this noticeably delay notifications, in milliseconds. */
export const SLOW_MS = 500;

export interface Notification {
  readonly channel: string;
  /** The message in which a worker announced its tasks; undefined if a job was queued. */
  readonly announcement: string | undefined;
}

export interface Listening {
  readonly statements: () => readonly string[];
  readonly onNotification: (notification: Notification) => void;
  /** Called when the connection was lost, so that notifications may have been missed. */
  readonly onLoss: () => void;
  /** Called when a reply comes from a different backend than the handshake, as behind a pooler. */
  readonly onPooler: () => void;
}

/**
 * Creates a session with its own connection, which may also listen. The connection is never returned to the pool, so it
 * may have its own settings and prepared statements. Each statement is planned once, because planning costs more than
 * claiming a job; the plan avoids sequential scans, so that it suits tables of any size.
 */
export function createOwnSession(pool: Connectable, timeoutMs: number, listening?: Listening): OwnSession {
  let current: PooledConnection | undefined;
  let busy = false;
  let isClosing = false;
  let closes = 0;
  let sentAt = -Infinity;
  /** The connection if it delivers notifications: it does not pass through a pooler, and its driver emits them. */
  let hearing: PooledConnection | undefined;
  const waiting: (() => void)[] = [];

  function drop(connection: PooledConnection): void {
    const isCurrent = current === connection;
    if (isCurrent) current = undefined;
    connection.release(new Error("the worker discards its connection"));
    if (isCurrent && !isClosing) listening?.onLoss();
  }

  async function connect(signal: AbortSignal): Promise<PooledConnection> {
    const before = closes;
    const connection = await lend(pool);
    if (signal.aborted || before !== closes) {
      connection.release();
      signal.throwIfAborted();
      throw new Error("the worker has closed its connection");
    }
    const emitter = connection as Partial<Emitter>;
    const lost = (): void => {
      if (current === connection) drop(connection);
    };
    emitter.on?.("error", lost);
    emitter.on?.("end", lost);
    emitter.on?.("notification", (message) => listening?.onNotification(notificationOf(message)));
    current = connection;
    try {
      const settings = settingsOf(timeoutMs, listening?.statements() ?? []);
      if (isPooled(connection, await connection.query(settings))) listening?.onPooler();
      else if (emitter.on !== undefined && listening !== undefined) hearing = connection;
    } catch (error) {
      if (current === connection) drop(connection);
      throw error;
    }
    return connection;
  }

  return {
    queues: true,
    get isOpen() {
      return current !== undefined;
    },
    get isIdle() {
      return current !== undefined && !busy;
    },
    get sentAt() {
      return sentAt;
    },
    get hears() {
      // The server sends no notifications during a statement.
      const isBlocked = busy && performance.now() - sentAt > SLOW_MS;
      return current !== undefined && current === hearing && !isBlocked;
    },
    async query<R extends Row>(name: string, text: string, values: unknown[]): Promise<R[]> {
      if (busy) await new Promise<void>((resolve) => void waiting.push(resolve));
      busy = true;
      sentAt = performance.now();
      let used: PooledConnection | undefined = current;
      try {
        return await withDeadline(timeoutMs, async (signal) => {
          used ??= await connect(signal);
          return sendPrepared<R>(used, name, text, values);
        });
      } catch (error) {
        // Drop the connection after a timeout too: the next statement would receive the late response.
        if (current !== undefined && (used === undefined || used === current)) drop(current);
        throw error;
      } finally {
        // Send the next statement before the caller handles this response.
        const next = waiting.shift();
        if (next === undefined) busy = false;
        else next();
      }
    },
    close() {
      closes += 1;
      isClosing = true;
      if (current !== undefined) drop(current);
      isClosing = false;
    },
  };
}

function settingsOf(timeoutMs: number, further: readonly string[]): string {
  return [
    `set statement_timeout = ${Math.max(1, Math.floor(timeoutMs * SERVERS_SHARE))}`,
    // At a stricter isolation level, concurrent updates of the same row would fail.
    "set default_transaction_isolation = 'read committed'",
    "set enable_seqscan = off",
    "set plan_cache_mode = force_generic_plan",
    "set jit = off",
    ...further,
    "select pg_backend_pid() as pid",
  ].join("; ");
}

interface Emitter {
  on(event: "error" | "notification" | "end", listener: (message?: unknown) => void): unknown;
}

/** Returns whether the reply came from a different backend than the handshake, as behind a pooler. */
function isPooled(connection: object, answers: unknown): boolean {
  const { processID } = connection as { readonly processID?: unknown };
  const last = (Array.isArray(answers) ? answers.at(-1) : answers) as Partial<QueryResult<Row>> | undefined;
  const pid = last?.rows?.[0]?.["pid"];
  return typeof processID === "number" && typeof pid === "number" && processID !== pid;
}

interface NamedQueries<R> {
  query(statement: { name: string; text: string; values: unknown[] }): Promise<QueryResult<R>>;
}

async function sendPrepared<R extends Row>(
  connection: PooledConnection,
  name: string,
  text: string,
  values: unknown[],
): Promise<R[]> {
  // Drivers other than `pg` accept only a string.
  if (name === "" || typeof (connection as Partial<Emitter>).on !== "function") {
    return (await connection.query<R>(text, values)).rows;
  }
  const driver = connection as unknown as NamedQueries<R>;
  return (await driver.query({ name, text, values: values.map(asText) })).rows;
}

/** Formats a list as an array literal, faster than the driver does. */
function asText(value: unknown): unknown {
  if (!Array.isArray(value) || value.length === 0) return value;
  const list: readonly unknown[] = value;
  if (list.every((each) => typeof each === "number" || typeof each === "boolean"))
    return `{${list.join(",")}}`;
  // Leave strings that need escaping to the driver.
  return list.every((each) => typeof each === "string" && !/["\\]/.test(each))
    ? `{"${list.join('","')}"}`
    : value;
}

const PREFIX = "handlers ";
const MAX_LENGTH = 1000;

/**
 * Returns the message that announces a worker's tasks to the table's other listeners. A worker claims every row
 * (JOB-20), so one with different handlers marks other workers' jobs as dead.
 */
export function announcementOf(tasks: Iterable<string>): string {
  const names = JSON.stringify([...tasks].toSorted());
  return PREFIX + (names.length <= MAX_LENGTH ? names : createHash("sha256").update(names).digest("hex"));
}

function notificationOf(message: unknown): Notification {
  const { channel, payload } = message as { readonly channel: string; readonly payload?: unknown };
  const isAnnouncement = typeof payload === "string" && payload.startsWith(PREFIX);
  return { channel, announcement: isAnnouncement ? payload : undefined };
}

/** Formats an announcement for the log. It may come from any client that is allowed to notify. */
export function tasksIn(announcement: string): string {
  return announcement.slice(PREFIX.length, PREFIX.length + MAX_LENGTH);
}

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

/** Where a worker's statements go. */
export interface Session {
  /** Sends a statement. `name` is its own, whatever the values are. Connects first where there is no connection. */
  query<R extends Row>(name: string, text: string, values: unknown[]): Promise<R[]>;
  /** Whether a statement may be given while another one is under way: it is sent next, and its time begins then. */
  readonly queues: boolean;
  /** Whether it has a connection of its own on which nothing is under way. */
  readonly isIdle: boolean;
  close(): void;
}

/** What a connection of `pg` tells. */
export interface Emitter {
  on(event: "error" | "notification" | "end", listener: (message?: unknown) => void): unknown;
  removeListener(event: "error", listener: () => void): unknown;
}

/** Of the time that a statement may take, the server's: what it did after we have given up would hold jobs for nobody. */
export const SERVERS_SHARE = 0.9;

/** Who hears of what a connection tells. */
export interface Listeners {
  readonly onNotify: () => void;
  /** What this one tells the others when it connects, and who hears what they tell. Default: nothing, nobody. */
  readonly greeting?: string | undefined;
  readonly onGreeting?: ((greeting: string) => void) | undefined;
  /** The server that answers is another one than the driver speaks to: its sessions may be everybody's. */
  readonly onPooler: () => void;
}

interface Prepared {
  readonly name: string;
  readonly text: string;
  readonly values: unknown[];
}

/**
 * A connection of its own, which listens where it has a channel. It is closed at the end and after every error, never given back: so it may have
 * settings and prepared statements of its own. A statement is planned once: to plan it anew costs more than to claim one job.
 * The plan is kept while the table grows from none to millions of rows; without sequential scans it is right for all of them.
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
    // At a stricter level two that meet on one row would be an error.
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
      // To connect again, and to hear what was told meanwhile.
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
        // One that hangs too: the answer that comes later would be taken for that of the next statement.
        if (current !== undefined && (used === undefined || used === current)) drop(current);
        throw error;
      } finally {
        // It is sent before whoever gets this answer does anything with it.
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

/** A text in a statement that takes no parameters, whatever `standard_conforming_strings` is. */
function quoted(text: string): string {
  return `E'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}

/** Whether the process that answered is another one than that which greeted: poolers give out numbers of their own. */
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
  // Another driver than `pg` takes nothing but a text.
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

/** Long lists as the text that the driver would make of them, in a fraction of its time. */
function asText(value: unknown): unknown {
  if (!Array.isArray(value) || value.length === 0) return value;
  const list: readonly unknown[] = value;
  if (list.every((each) => typeof each === "number" || typeof each === "boolean"))
    return `{${list.join(",")}}`;
  // What would have to be masked is left to the driver.
  return list.every((each) => typeof each === "string" && !/["\\]/.test(each))
    ? `{"${list.join('","')}"}`
    : value;
}

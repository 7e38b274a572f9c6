import { errorText, type NewJob } from "@svc/job-table";
import { withDeadline } from "@svc/resilience";
import { bounded, isConnectionError, type Queryable, sqlStateOf, withTransaction } from "@svc/sql";
import { type ClaimedRow, claimSql, failedSql, publishedSql, purgeSql, releasedSql } from "../outbox/sql.ts";
import { isRefusedJob } from "../events.ts";
import type { Failure, OutgoingEvent } from "./deliver.ts";
import type { ResolvedRelay } from "./resolve-relay.ts";

/** A claimed row, or the final row, which holds the key where the scan stopped. */
interface AnswerRow extends ClaimedRow {
  readonly last_key: string | null;
  readonly visited: number;
}

/** The result of marking events as published. */
export interface Settled {
  readonly published: readonly string[];
  readonly lost: readonly string[];
  readonly failed: readonly Failure[];
}

const KEYS = 500;
const PURGED = 1000;
// PostgreSQL's text of a jsonb value has extra spaces and is up to twice as long as the published JSON.
const SPACED = 2;
const MAX_JOBS = 1000;
const MAX_LENGTH = 16 * 2 ** 20;
// The share of the deadline given to the server, so that it stops before the relay times out.
const SERVERS_SHARE = 0.9;
// SQLSTATE classes of errors that the row's data causes. After all other errors a retry may help.
const DATA = /^(?:21|22|23|54)/;

/** Returns functions that run a relay's statements, each in a transaction with a deadline. */
export function createRelayStore(options: ResolvedRelay) {
  const { access, outbox, events, leaseMs, maxAttempts, commandTimeoutMs, purgeAfterDays } = options;
  const { db, sql } = access;
  const texts = {
    claim: claimSql(sql),
    published: publishedSql(sql),
    failed: failedSql(sql),
    released: releasedSql(sql),
    purge: purgeSql(sql),
  };
  const deadline = { operation: `a relay of ${outbox.name}`, timeoutMs: commandTimeoutMs };
  const settings = {
    statement_timeout: String(Math.max(1, Math.floor(commandTimeoutMs * SERVERS_SHARE))),
    // Force the plan for a large table, even if the table's statistics suggest another one.
    enable_seqscan: "off",
    enable_bitmapscan: "off",
    jit: "off",
  };

  /**
   * Runs a transaction that ends within the deadline, even if the database hangs; a pooled connection is closed in that
   * case.
   */
  function inTransaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
    return withDeadline(commandTimeoutMs, (signal) =>
      withTransaction(
        bounded(db, deadline),
        async (tx) => {
          const result = await work(tx);
          // Roll back if the relay has already timed out.
          signal.throwIfAborted();
          return result;
        },
        { isolation: "read committed", settings },
      ),
    );
  }

  function mark(sent: readonly OutgoingEvent[]): Promise<Settled> {
    return inTransaction(async (tx) => {
      const { rows } = await tx.query<{ id: string }>(texts.published, leasesOf(sent.map(({ row }) => row)));
      const held = new Set(rows.map(({ id }) => id));
      const mine = sent.filter(({ row }) => held.has(row.id));
      for (const jobs of chunks(mine)) await events.table?.enqueueMany(jobs, { tx });
      const lost = sent.map(({ row }) => row.id).filter((id) => !held.has(id));
      return { published: [...held], lost, failed: [] };
    });
  }

  async function markOneByOne(sent: readonly OutgoingEvent[]): Promise<Settled> {
    const published: string[] = [];
    const lost: string[] = [];
    const failed: Failure[] = [];
    for (const event of sent) {
      try {
        const settled = await mark([event]);
        published.push(...settled.published);
        lost.push(...settled.lost);
      } catch (error) {
        if (!isOfTheRow(error)) throw error;
        failed.push({ row: event.row, error, permanent: isRefusedJob(error) });
      }
    }
    return { published, lost, failed };
  }

  return {
    async claim(limit: number, fromKey: string) {
      const values = [limit, leaseMs / 1000, fromKey, KEYS, maxAttempts, SPACED * events.maxEventBytes];
      const { rows } = await inTransaction((tx) => tx.query<AnswerRow>(texts.claim, values));
      const last = rows.at(-1);
      return {
        rows: rows.filter((row) => row.kind_of_row === 0),
        /** Ids of events that exhausted their attempts. This claim marked them as dead. */
        exhausted: rows.filter((row) => row.kind_of_row === 1).map(({ id }) => id),
        /** The key at which the next claim starts; `""` is the beginning. */
        nextKey: last !== undefined && last.visited >= KEYS ? (last.last_key ?? "") : "",
      };
    },
    /** Marks the sent events as published and queues their jobs, in one transaction. */
    async settle(sent: readonly OutgoingEvent[]): Promise<Settled> {
      if (sent.length === 0) return { published: [], lost: [], failed: [] };
      try {
        return await mark(sent);
      } catch (error) {
        if (!isOfTheRow(error)) throw error;
        return markOneByOne(sent);
      }
    },
    /** Delays failed rows or marks them as dead. Returns the ids of the dead ones. */
    async fail(failures: readonly Failure[], away: boolean): Promise<readonly string[]> {
      if (failures.length === 0) return [];
      const values = [
        ...leasesOf(failures.map(({ row }) => row)),
        failures.map(({ error }) => errorText(error)),
        failures.map(({ permanent }) => permanent),
        maxAttempts,
        away,
      ];
      const { rows } = await inTransaction((tx) =>
        tx.query<{ id: string; status: string }>(texts.failed, values),
      );
      return rows.filter(({ status }) => status === "dead").map(({ id }) => id);
    },
    async release(rows: readonly ClaimedRow[]): Promise<void> {
      if (rows.length > 0) await inTransaction((tx) => tx.query(texts.released, leasesOf(rows)));
    },
    async purge(): Promise<number> {
      return (await inTransaction((tx) => tx.query(texts.purge, [purgeAfterDays, PURGED]))).rows.length;
    },
  };
}

/** Returns whether the row's data caused the error, rather than the state of the database. */
function isOfTheRow(error: unknown): boolean {
  if (isRefusedJob(error)) return true;
  return !isConnectionError(error) && DATA.test(sqlStateOf(error) ?? "");
}

function leasesOf(rows: readonly ClaimedRow[]): [string[], number[], string[]] {
  return [rows.map(({ id }) => id), rows.map(({ attempts }) => attempts), rows.map(({ lease }) => lease)];
}

/** Splits the events' jobs into lists that are small enough for one statement. */
function* chunks(outgoing: readonly OutgoingEvent[]): Generator<NewJob[]> {
  let chunk: NewJob[] = [];
  let length = 0;
  for (const { jobs, message } of outgoing) {
    for (const job of jobs) {
      if (chunk.length >= MAX_JOBS || (chunk.length > 0 && length + message.body.length > MAX_LENGTH)) {
        yield chunk;
        chunk = [];
        length = 0;
      }
      chunk.push(job);
      length += message.body.length;
    }
  }
  if (chunk.length > 0) yield chunk;
}

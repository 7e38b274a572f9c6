import pg from "pg";
import { type Contestant, latencyOnly, type Work } from "./contestant.ts";

const INSERT = "insert into commits (payload) values ($1) returning id";

/**
 * Inserts a row by a prepared statement on an open connection, and then calls its handler. This is not a queue, but
 * every queue that stores a job before it starts needs this one commit, so it shows the share of the machine and its
 * disk in a latency.
 */
export async function createCommit(url: string): Promise<Contestant> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(
    "create table commits (id bigint generated always as identity primary key, payload jsonb)",
  );
  let handler: Work | undefined;
  return {
    about: "commit: one insert, without a claim",
    ...latencyOnly("commit"),
    async enqueueOne(n) {
      await client.query({ name: "insert", text: INSERT, values: [JSON.stringify({ n })] });
      await handler?.(n);
    },
    work(_concurrency, _mode, work) {
      handler = work;
      return Promise.resolve({ stop: () => Promise.resolve() });
    },
    live: () => Promise.resolve(false),
    clean: async () => void (await client.query("vacuum analyze commits")),
    analyze: async () => void (await client.query("analyze commits")),
    close: () => client.end(),
  };
}

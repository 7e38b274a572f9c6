import pg from "pg";
import { type Contestant, latencyOnly, type Work } from "./contestant.ts";

const INSERT = "insert into commits (payload) values ($1) returning id";

/**
 * No queue at all: a row is inserted by a prepared statement on an open connection, and then its handler is called. Nobody who keeps a
 * job before it begins can do without that one commit, so this is what the machine and its disk take of a latency.
 */
export async function createCommit(url: string): Promise<Contestant> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(
    "create table commits (id bigint generated always as identity primary key, payload jsonb)",
  );
  let handler: Work | undefined;
  return {
    about: "commit: one insert, and nobody who claims",
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

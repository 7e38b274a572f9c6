import pg from "pg";
import { type Contestant, latencyOnly } from "./contestant.ts";

const CHANNEL = "by_hand";
const INSERT = `with made as (insert into by_hand (payload) values ($1) returning id)
  select pg_notify('${CHANNEL}', '') from made`;
const CLAIM = `update by_hand set status = 'running', attempts = attempts + 1, locked_until = now() + interval '300 s'
  where id = (select id from by_hand where status = 'pending' order by id limit 1 for update skip locked)
  returning id, payload`;

/**
 * Does the least work that takes a job from a durable insert to its handler under a lease: an insert that notifies, and
 * an update, each committed, as prepared statements on open connections. It creates no ids in the client, and has no
 * context, second worker, pooler or error handling. Used only in the latency rows: no queue that claims jobs can be faster on this
 * machine.
 */
export async function createByHand(url: string): Promise<Contestant> {
  const [client, worker] = [new pg.Client(url), new pg.Client(url)];
  await client.connect();
  await worker.connect();
  await client.query(`create table by_hand (id bigint generated always as identity primary key, payload jsonb,
    status text not null default 'pending', attempts int not null default 0, locked_until timestamptz)`);
  await worker.query(`listen ${CHANNEL}`);
  return {
    about: "by hand: one insert, one notification, one update",
    ...latencyOnly("by-hand"),
    enqueueOne: async (n) =>
      void (await client.query({ name: "insert", text: INSERT, values: [JSON.stringify({ n })] })),
    async work(_concurrency, _mode, work) {
      let claiming = Promise.resolve();
      const claim = async (): Promise<void> => {
        const { rows } = await worker.query<{ id: string; payload: { n: number } }>({
          name: "claim",
          text: CLAIM,
        });
        const [job] = rows;
        if (job === undefined) return;
        await work(job.payload.n);
        await worker.query({ name: "ack", text: "delete from by_hand where id = $1", values: [job.id] });
      };
      const onNotification = (): void => {
        claiming = claiming.then(claim);
      };
      worker.on("notification", onNotification);
      return {
        async stop() {
          worker.off("notification", onNotification);
          await claiming;
        },
      };
    },
    async live() {
      const { rows } = await client.query<{ live: boolean }>("select exists(select from by_hand) as live");
      return rows[0]?.live ?? true;
    },
    clean: async () => void (await client.query("vacuum analyze by_hand")),
    analyze: async () => void (await client.query("analyze by_hand")),
    async close() {
      await worker.end();
      await client.end();
    },
  };
}

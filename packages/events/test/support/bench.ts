import {
  createEvents,
  createOutbox,
  createRelay,
  type Events,
  type EventsOptions,
  type Outbox,
  type Relay,
  type RelayEvent,
  type RelayOptions,
} from "@svc/events";
import { createJobTable, defineTasks, type JobTable, type StandardSchema } from "@svc/job-table";
import { Pool } from "pg";

/** The tables of one test, on their own pool. */
export interface Bench extends AsyncDisposable {
  readonly pool: Pool;
  readonly table: JobTable;
  readonly outbox: Outbox;
  readonly jobs: () => Promise<JobRow[]>;
  readonly rows: () => Promise<OutboxRow[]>;
  events(options?: Partial<EventsOptions<Record<string, object>>>): Events;
  relay(events: Events, options?: Partial<RelayOptions>): Relay & { readonly reported: RelayEvent[] };
}

export interface JobRow {
  readonly id: string;
  readonly task: string;
  readonly payload: { readonly topic: string; readonly event: Record<string, unknown> };
  readonly max_attempts: number;
  readonly request_id: string | null;
  readonly tenant_id: string | null;
  readonly trace: unknown;
}

export interface OutboxRow {
  readonly id: string;
  readonly kind: string;
  readonly destination: string;
  readonly payload: Record<string, unknown>;
  readonly message_key: string | null;
  readonly request_id: string | null;
  readonly tenant_id: string | null;
  readonly trace: unknown;
  readonly status: string;
  readonly attempts: number;
  readonly available_at: Date;
  readonly published_at: Date | null;
  readonly last_error: string | null;
}

let benches = 0;

export async function openBench(url: string, max = 10): Promise<Bench> {
  const pool = openPool(url, max);
  benches += 1;
  const table = createJobTable({ db: pool, name: `jobs_${benches}` });
  const outbox = createOutbox({ db: pool, name: `outbox_${benches}` });
  await table.ensureSchema();
  await outbox.ensureSchema();
  return {
    pool,
    table,
    outbox,
    jobs: async () => (await pool.query<JobRow>(`select * from ${table.name} order by task, id`)).rows,
    rows: async () =>
      (await pool.query<OutboxRow>(`select * from ${outbox.name} order by created_at, id`)).rows,
    events: (options = {}) => createEvents({ source: "books", table, outbox, ...options }),
    relay: (events, options = {}) => {
      const reported: RelayEvent[] = [];
      const relay = createRelay({
        outbox,
        events,
        everyMs: 20,
        onEvent: (event) => reported.push(event),
        ...options,
      });
      return Object.assign(relay, { reported });
    },
    [Symbol.asyncDispose]: () => pool.end(),
  };
}

/** Returns the bench's job table with a schema for one task, which accepts only events whose `total` is a number. */
export function tableWithSchema({ pool, table: { name } }: Bench, task: string): JobTable {
  const validate: StandardSchema["~standard"]["validate"] = (payload) => {
    const { event } = payload as JobRow["payload"];
    const { total } = event["data"] as { readonly total?: unknown };
    return typeof total === "number" ? { value: payload } : { issues: [{ message: "no", path: ["event"] }] };
  };
  const schema = { "~standard": { version: 1, vendor: "test", validate } } as const;
  return createJobTable({ db: pool, name, tasks: defineTasks({ [task]: schema }) });
}

export function openPool(url: string, max = 10): Pool {
  const pool = new Pool({ connectionString: url, max });
  pool.on("error", () => undefined);
  return pool;
}

/** Deletes the rows of a test. */
export async function emptied({ pool, table, outbox }: Bench): Promise<void> {
  await pool.query(`delete from ${table.name}; delete from ${outbox.name}`);
}

/** Makes every pending event due now by ending leases and delays; skips rows that a relay has locked. */
export async function hasten({ pool, outbox }: Bench): Promise<void> {
  await pool.query(
    `update ${outbox.name} set available_at = now() - interval '1 second' where id = any(array(
      select id from ${outbox.name} where status = 'pending' for update skip locked))`,
  );
}

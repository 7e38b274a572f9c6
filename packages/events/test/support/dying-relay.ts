import { createEvents, createOutbox, createRelay } from "@svc/events";
import { createJobTable } from "@svc/job-table";
import { Pool } from "pg";
import { obedientBus } from "./obedient-bus.ts";

// Runs a relay in a child process, which the test kills after the bus has stored the events and before publish()
// resolves.
const [url = "", jobs = "", outboxName = ""] = process.argv.slice(2);
const pool = new Pool({ connectionString: url });
const table = createJobTable({ db: pool, name: jobs });
const outbox = createOutbox({ db: pool, name: outboxName });
const bus = Object.assign(obedientBus(), {
  async publish(messages: readonly { readonly id: string; readonly body: string }[]) {
    for (const { id, body } of messages) await pool.query("insert into sent values ($1, $2)", [id, body]);
    process.stdout.write("sent\n");
    await new Promise((resolve) => setTimeout(resolve, 60_000));
  },
});
const subscribers = { "expense.recorded": { totals: () => undefined } };
const events = createEvents({ source: "books", table, outbox, bus, subscribers });
createRelay({ outbox, events, everyMs: 20 }).start();

import { createJobTable, createWorker } from "@svc/job-table";
import { Pool } from "pg";

// A worker on a host whose clock is wrong by the given milliseconds.
const [url = "", name = "", shift = "0"] = process.argv.slice(2);
const Right = Date;
globalThis.Date = class extends Right {
  constructor(...given: []) {
    super(...(given.length === 0 ? ([Right.now() + Number(shift)] as unknown as []) : given));
  }
  static override now(): number {
    return Right.now() + Number(shift);
  }
} as DateConstructor;

const pool = new Pool({ connectionString: url });
const table = createJobTable({ db: pool, name, visibilityTimeoutSeconds: 100 });
await table.enqueue({ id: "queued there", task: "now" });
await table.enqueue({ id: "later", task: "now", delaySeconds: 50 });
const worker = createWorker({
  table,
  pollMs: 50,
  handlers: {
    now: () => undefined,
    fails() {
      throw new Error("no");
    },
    stays: () => new Promise(() => undefined),
  },
  onEvent: ({ type }) => process.stdout.write(`${type}\n`),
});
worker.start();

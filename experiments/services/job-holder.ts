import { createJobTable, createWorker } from "@svc/job-table";
import { Pool } from "pg";
import { announce, settingsOfParent } from "../harness/within-service.ts";

export interface HolderSettings {
  readonly url: string;
  readonly name: string;
  readonly visibilitySeconds: number;
  readonly jobs: number;
}

// A worker that claims all jobs, and runs them until it is killed.
const { url, name, visibilitySeconds, jobs } = settingsOfParent<HolderSettings>();
const pool = new Pool({ connectionString: url, max: 4 });
pool.on("error", () => undefined);
const table = createJobTable({ db: pool, name, visibilityTimeoutSeconds: visibilitySeconds });
createWorker({
  table,
  concurrency: 1,
  prefetch: jobs - 1,
  handlers: { work: () => new Promise(() => undefined) },
}).start();
announce(process.pid);

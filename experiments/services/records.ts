import { createService } from "@svc/express";
import express from "express";
import { createServer } from "node:http";
import { Pool } from "pg";
import { announce, listenAndAnnounce, settingsOfParent } from "../harness/within-service.ts";

export interface RecordsSettings {
  readonly url: string;
  readonly deadlineSeconds: number;
  /** Whether to use the pool of `pg` with its defaults. */
  readonly poolDefaults: boolean;
}

const { url, deadlineSeconds, poolDefaults } = settingsOfParent<RecordsSettings>();
const statement = "select 1 as one from pg_sleep(0.002)";

async function asBuilt(): Promise<void> {
  const service = await createService({
    env: {},
    config: {
      toml: `
        [service]
        name = "records"
        port = 0
        [logging]
        level = "WARN"
        [plugins]
        enabled = ["observability", "metrics", "database"]
        [plugin.database]
        url = "${url}"
        connect_timeout = ${deadlineSeconds}
        acquire_timeout = ${deadlineSeconds}
        statement_timeout = ${deadlineSeconds}
      `,
    },
    routes(app, { db }) {
      app.get("/row", async (_req, res) => {
        const found = await db?.query(statement);
        res.json(found?.rows);
      });
    },
  });
  await service.start();
  announce(service.address?.port);
}

function withDefaults(): void {
  const pool = new Pool({ connectionString: url });
  const app = express();
  app.get("/health", (_req, res) => void res.json({ status: "ok" }));
  app.get(["/row", "/ready"], async (_req, res) => {
    const { rows } = await pool.query(statement);
    res.json(rows);
  });
  listenAndAnnounce(createServer(app));
}

if (poolDefaults) withDefaults();
else void asBuilt();

// `npm start`: the service with a PostgreSQL of its own. With DATABASE_URL set it uses that one and starts none.
import { fileURLToPath } from "node:url";
import { demoPostgres } from "@svc/dev-services";
import { configurationExitCode } from "@svc/express";
import { startExpenses } from "./src/service.ts";

const checkout = fileURLToPath(new URL("../..", import.meta.url));

async function main(): Promise<void> {
  if (process.env["DATABASE_URL"]) {
    await startExpenses(process.env);
    return;
  }
  if (process.env["SVC_ENV"] === "prod") {
    process.stderr.write(
      "SVC_ENV is prod: set DATABASE_URL; the demo's own database and data are not for production\n",
    );
    process.exit(configurationExitCode);
  }
  const servicePort = Number(process.env["SVC_PORT"] || 8000);
  const postgres = await demoPostgres({ checkout, servicePort, database: "expenses" });
  process.stderr.write(`${postgres.description}\n`);
  const env = { ...process.env, DATABASE_URL: postgres.url };
  const service = await startExpenses(env, { seed: true });
  service.onStop("close", async () => {
    await service.db?.stop();
    await postgres.stop();
  });
  process.stderr.write(`open http://localhost:${service.address?.port}/  (Ctrl-C stops it)\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});

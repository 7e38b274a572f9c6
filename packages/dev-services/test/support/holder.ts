// A child process of tests. It starts or joins the server named by its arguments, prints the data about it as one JSON
// line, and exits when its standard input closes.
import { openTestDatabase, openTestRedis, startPostgres, type PostgresOptions } from "@svc/dev-services";

const [what, options = "{}"] = process.argv.slice(2);

async function hold(): Promise<object> {
  if (what === "postgres") {
    const { url, pid, folder, port, joined, version } = await startPostgres(
      JSON.parse(options) as PostgresOptions,
    );
    return { url, pid, folder, port, joined, version, uid: process.getuid?.() };
  }
  if (what === "redis") return openTestRedis();
  return openTestDatabase();
}

hold().then(
  (held) => {
    process.stdout.write(`${JSON.stringify(held)}\n`);
    process.stdin.resume();
  },
  (error: Error) => {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  },
);

// `npm run conformance -w examples/full-service`: starts the example in its test mode, runs the conformance kit against it,
// and stops it. The kit receives all further arguments.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { mochaGlobalTeardown as releaseServers, openTestDatabase } from "@svc/dev-services";
import { startTestMode } from "./start.ts";

const kit = fileURLToPath(new URL("../../../packages/conformance/src/command-line.ts", import.meta.url));

void check(process.argv.slice(2)).then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 2;
  },
);

async function check(args: readonly string[]): Promise<number> {
  try {
    await using database = await openTestDatabase({ name: "conformance" });
    await using tested = await startTestMode(database.url, { SVC_ENV: process.env["SVC_ENV"] });
    const files = ["--keys", tested.keysFile, "--probes", tested.probesFile, "--log", tested.logFile];
    const servers = ["--serve-otlp", tested.otlpAddress, "--serve-upstream", tested.upstreamAddress];
    const child = spawn(
      process.execPath,
      [
        "--conditions=@svc/source",
        kit,
        tested.url,
        "--replica",
        tested.replicaUrl,
        ...files,
        ...servers,
        "--house",
        ...args,
      ],
      { stdio: ["ignore", "inherit", "inherit"] },
    );
    const [code] = (await once(child, "close")) as [number | null];
    return code ?? 1;
  } finally {
    await releaseServers();
  }
}

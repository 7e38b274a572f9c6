import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { demoFolder, freePorts } from "@svc/dev-services";

const script = fileURLToPath(
  new URL("../../examples/full-service/test/support/start-all.ts", import.meta.url),
);

/** The gateway, the expenses service and the receipts service of the example, each a process. */
export interface Services extends AsyncDisposable {
  /** The address of the gateway. */
  readonly url: string;
}

/**
 * Starts the three services. Disposal stops them, which exports their last spans.
 *
 * @param env variables of all three processes, in addition to those that they need to start
 * @throws Error with their standard error if they do not start
 */
export async function startServices(env: Readonly<Record<string, string>>): Promise<Services> {
  await using cleanup = new AsyncDisposableStack();
  const checkout = await mkdtemp(join(tmpdir(), "svc-one-trace-"));
  cleanup.defer(() => rm(checkout, { recursive: true }));
  cleanup.defer(() => rm(demoFolder(checkout), { recursive: true, force: true }));
  // The ports on which the three services and their database listen.
  const port = await freePorts([10, 11, 20]);
  const child = spawn(process.execPath, ["--conditions=@svc/source", script], {
    env: { PATH: process.env["PATH"], CHECKOUT: checkout, SVC_PORT: String(port), ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let written = "";
  child.stderr.on("data", (chunk: Buffer) => (written += chunk.toString()));
  const exited = once(child, "exit");
  cleanup.defer(async () => {
    child.kill("SIGTERM");
    await exited;
  });
  const url = `http://localhost:${port}`;
  while (!written.includes(`Open ${url}/`)) {
    if (child.exitCode !== null) throw new Error(`the services did not start: ${written}`);
    await sleep(50);
  }
  const running = cleanup.move();
  return { url, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

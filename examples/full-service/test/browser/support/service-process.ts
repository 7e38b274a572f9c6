import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** A service in a separate process. */
export interface ServiceProcess {
  readonly port: number;
  /** Returns its output so far, log lines and errors. */
  output(): string;
  stop(): Promise<void>;
}

const script = fileURLToPath(new URL("./start-staging.ts", import.meta.url));

/** Starts the service with this file and environment. It inherits only the environment variables that Node needs. */
export async function startServiceProcess(
  file: string,
  env: Readonly<Record<string, string>>,
): Promise<ServiceProcess> {
  const child = spawn(process.execPath, ["--conditions=@svc/source", script, file], {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    env: {
      PATH: process.env["PATH"],
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      NODE_OPTIONS: process.env["NODE_OPTIONS"],
      ...env,
    },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  }
  const ended = once(child, "close");
  const { port } = await Promise.race([
    once(child, "message").then(([message]) => message as { port: number }),
    ended.then(([code]) => Promise.reject(new Error(`the service ended with ${code}: ${output}`))),
  ]);
  return {
    port,
    output: () => output,
    async stop() {
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), 10_000);
      await ended;
      clearTimeout(timer);
    },
  };
}

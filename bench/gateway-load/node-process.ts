import { fork } from "node:child_process";
import { once } from "node:events";

/** A server in its own process. Disposal ends the process. */
export interface Running extends AsyncDisposable {
  readonly url: string;
  readonly pid: number | undefined;
}

/** Starts a file of this folder, which sends its URL when it listens. */
export async function startNode(file: string, ...args: readonly string[]): Promise<Running> {
  const child = fork(new URL(file, import.meta.url), args, {
    execArgv: ["--conditions=@svc/source"],
    env: { ...process.env, NODE_ENV: "production" },
  });
  const exited = once(child, "exit");
  const first = await Promise.race([once(child, "message"), exited.then(() => undefined)]);
  if (first === undefined) throw new Error(`${file} ended with ${child.exitCode} before it listened`);
  return {
    url: String(first[0]),
    pid: child.pid,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

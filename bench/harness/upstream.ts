import { fork } from "node:child_process";
import { once } from "node:events";

/** A server in another process, so that its CPU time does not count. */
export interface Upstream extends AsyncDisposable {
  readonly url: string;
}

/** Starts the server that all cases call. */
export async function startUpstream(): Promise<Upstream> {
  const child = fork(new URL("./upstream-process.ts", import.meta.url), { execArgv: process.execArgv });
  const [url] = (await once(child, "message")) as [string];
  return {
    url,
    async [Symbol.asyncDispose]() {
      const exited = once(child, "exit");
      child.kill();
      await exited;
    },
  };
}

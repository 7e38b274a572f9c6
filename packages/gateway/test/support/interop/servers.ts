import { startHttpbin, startNginx, testProgram } from "@svc/dev-services";
import { fork } from "node:child_process";
import { once } from "node:events";
import { nginxSite } from "./nginx-site.ts";

/** A server in its own process; disposing of it ends the process. */
export interface InteropServer extends AsyncDisposable {
  readonly url: string;
}

/** A server that responds to the paths of the suite. */
export interface InteropKind {
  /** Skips the enclosing `describe` if the server is not installed. */
  readonly require: () => void;
  readonly start: () => Promise<InteropServer>;
}

export const nginx: InteropKind = {
  require: () => testProgram("nginx"),
  start: () => startNginx({ http: nginxSite }),
};

export const httpbin: InteropKind = { require: () => testProgram("httpbin"), start: startHttpbin };

export const service: InteropKind = { require: () => undefined, start: startService };

async function startService(): Promise<InteropServer> {
  const child = fork(new URL("./service-process.ts", import.meta.url), { execArgv: process.execArgv });
  const [port] = (await once(child, "message")) as [number];
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  };
}

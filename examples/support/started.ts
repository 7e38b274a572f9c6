import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A process that runs a start file. Disposing of it ends the process. */
export interface Started extends AsyncDisposable {
  readonly url: string;
  /** Returns the log records that the process has written so far. */
  lines(): readonly Readonly<Record<string, unknown>>[];
}

/** Node arguments that resolve the packages to their sources, or to their published files. */
export const conditions = { source: ["--conditions=@svc/source"], published: [] } as const;

const built = new URL("../../packages/problem/dist/index.js", import.meta.url);

/** Returns whether these arguments resolve the packages: the published entries exist only after a build. */
export function canFind(args: readonly string[]): boolean {
  return args.length > 0 || existsSync(built);
}

/** Starts a JavaScript file on a free port and resolves when it prints its address. */
export async function started(file: URL, args: readonly string[] = []): Promise<Started> {
  const { NODE_OPTIONS: _own, ...env } = process.env;
  const child = spawn(process.execPath, [...args, fileURLToPath(file)], {
    env: { ...env, PORT: "0" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  const ended = once(child, "close");
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.on("data", (chunk: Buffer) => {
      stderr += chunk.toString();
      const origin = /^(http:\/\/[^/]+)\/\S+\n/m.exec(stderr)?.[1];
      if (origin !== undefined) resolve(origin);
    });
    void ended.then(() => reject(new Error(`${file.pathname} ended: ${stderr}`)));
  });
  return {
    url,
    lines: () =>
      stdout
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    async [Symbol.asyncDispose]() {
      child.kill();
      await ended;
    },
  };
}

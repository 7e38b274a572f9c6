import { type ChildProcess, spawn, type SpawnOptions } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** A child process that holds a server, and the data that it reported about the server. */
export interface Holder extends AsyncDisposable {
  readonly child: ChildProcess;
  readonly held: Readonly<Record<string, unknown>>;
  kill(signal: NodeJS.Signals): Promise<void>;
}

/** Starts a process that starts or joins a server; rejects with its standard error when it fails. */
export async function hold(what: string, options: object = {}, spawning: SpawnOptions = {}): Promise<Holder> {
  const file = fileURLToPath(new URL("./holder.ts", import.meta.url));
  const args = ["--conditions=@svc/source", file, what, JSON.stringify(options)];
  const child = spawn(process.execPath, args, { ...spawning, stdio: ["pipe", "pipe", "pipe"] });
  let stderr = "";
  child.stderr?.on("data", (chunk: Buffer) => (stderr += String(chunk)));
  const closed = once(child, "close").then(() => undefined);
  if (child.stdout === null) throw new Error("no standard output");
  const line = await Promise.race([once(createInterface({ input: child.stdout }), "line"), closed]);
  if (line === undefined) throw new Error(stderr);
  const kill = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await closed;
  };
  return {
    child,
    held: JSON.parse(String(line[0])) as Record<string, unknown>,
    kill,
    [Symbol.asyncDispose]: () => kill("SIGKILL"),
  };
}

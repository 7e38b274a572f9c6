import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { LogLine } from "./test-service.ts";

/** A service in a child process. Disposal kills it. */
export interface Child extends AsyncDisposable {
  readonly url: () => string;
  readonly port: () => number;
  readonly lines: () => LogLine[];
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Resolves with the first log line that `fits` accepts; rejects when the process exits without one. */
  line(fits: (line: LogLine) => boolean): Promise<LogLine>;
  /** Resolves when the service logs that it listens. */
  listening(): Promise<void>;
  kill(signal: NodeJS.Signals): void;
  send(message: string): void;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
}

/** Options of {@link runChild}. */
export interface ChildOptions {
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly args?: readonly string[] | undefined;
  /** Options of Node, such as `--require`. */
  readonly nodeArgs?: readonly string[] | undefined;
  /** Name of the program's file. Default: `service.mjs`. */
  readonly program?: string | undefined;
  /** Contents of files in the program's working directory, by name. */
  readonly files?: Readonly<Record<string, string>> | undefined;
}

/** Writes a module to a new folder, and runs it. The module logs JSON lines to standard output. */
export async function runChild(
  source: string,
  { env = {}, args = [], nodeArgs = [], program = "service.mjs", files = {} }: ChildOptions = {},
): Promise<Child> {
  const folder = await mkdtemp(join(fileURLToPath(new URL("..", import.meta.url)), ".child-"));
  await writeFile(join(folder, program), source);
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const child = spawn(process.execPath, ["--conditions=@svc/source", ...nodeArgs, program, ...args], {
    cwd: folder,
    env: {
      PATH: process.env["PATH"],
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      NODE_OPTIONS: process.env["NODE_OPTIONS"],
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  let stdout = "";
  let stderr = "";
  const changed = new Set<() => void>();
  const tell = (): void => {
    for (const each of changed) each();
  };
  child.stdout?.on("data", (chunk: Buffer) => {
    stdout += chunk.toString();
    tell();
  });
  child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  let over = false;
  const ended = once(child, "close").then(([code, signal]) => {
    over = true;
    tell();
    return { code: code as number | null, signal: signal as NodeJS.Signals | null };
  });

  function lines(): LogLine[] {
    const whole = stdout.slice(0, stdout.lastIndexOf("\n") + 1).split("\n");
    return whole.filter((each) => each.startsWith("{")).map((each) => JSON.parse(each) as LogLine);
  }

  async function line(fits: (each: LogLine) => boolean): Promise<LogLine> {
    for (;;) {
      const found = lines().find(fits);
      if (found !== undefined) return found;
      if (over) throw new Error(`the process ended without that line\n${stdout}\n${stderr}`);
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          changed.delete(wake);
          resolve();
        };
        changed.add(wake);
      });
    }
  }

  const port = (): number => Number(lines().find((each) => each["message"] === "listening")?.["port"]);
  return {
    port,
    url: () => `http://127.0.0.1:${port()}`,
    lines,
    stdout: () => stdout,
    stderr: () => stderr,
    line,
    listening: async () => void (await line((each) => each["message"] === "listening")),
    kill: (signal) => void child.kill(signal),
    send: (message) => void child.send(message),
    ended,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null) child.kill("SIGKILL");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

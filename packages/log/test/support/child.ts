import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../..", import.meta.url));

/** Returns the code of a module for a child process, with `logger` and `createLogger` defined. */
export function moduleOf(code: string): string {
  return `
    import { createDestination, createLogger } from "@svc/log";
    const logger = createLogger({ service: "shop", env: "local" });
    ${code}
  `;
}

export interface Child extends AsyncDisposable {
  readonly process: ChildProcess;
  /** Resolves to the exit code and signal when the process has ended. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  readonly stderr: () => string;
}

/** Runs a module in a child process; the test must read its standard output, which is a pipe. */
export function start(code: string): Child {
  const child = spawn(
    process.execPath,
    ["--conditions=@svc/source", "--input-type=module", "--eval", moduleOf(code)],
    { cwd: folder, stdio: ["ignore", "pipe", "pipe", "ipc"] },
  );
  let stderr = "";
  child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = once(child, "exit").then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as string | null,
  }));
  return {
    process: child,
    ended,
    stderr: () => stderr,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
      await ended;
    },
  };
}

/** Runs a module until it ends, and reads all its output. */
export async function run(
  code: string,
): Promise<{ code: number | null; signal: string | null; messages: unknown[]; stderr: string }> {
  await using child = start(code);
  let text = "";
  child.process.stdout?.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const closed = once(child.process, "close");
  const { code: exitCode, signal } = await child.ended;
  await closed;
  return { code: exitCode, signal, messages: messagesOf(text), stderr: child.stderr() };
}

/** Returns the message of each line; throws when a line is not JSON. */
export function messagesOf(text: string): unknown[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => (JSON.parse(line) as { message: unknown }).message);
}

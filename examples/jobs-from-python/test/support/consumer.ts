import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, delimiter } from "node:path";
import { fileURLToPath } from "node:url";
import { requireProgram, testProgram } from "@svc/dev-services";

/** A child process of this example; disposing of it kills it. */
export interface Running extends AsyncDisposable {
  readonly ended: Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>;
  /** Resolves when the standard output of the process contains `text`. */
  wrote(text: string): Promise<void>;
  terminate(): void;
}

const example = fileURLToPath(new URL("../../", import.meta.url));

/** Skips the enclosing `describe`, as `testProgram()` does, if Python or psql is missing. */
export function needsPython(): void {
  testProgram("python");
  testProgram("psql");
}

/** Starts a program of this example with node and psql on its PATH. */
export function start(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Running {
  const child = spawn(program, args, {
    cwd: example,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...process.env,
      PATH: [dirname(process.execPath), process.env["PATH"], dirname(requireProgram("psql"))].join(delimiter),
      PYTHONDONTWRITEBYTECODE: "1",
      NODE_OPTIONS: "--conditions=@svc/source",
      ...env,
    },
  });
  const out = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (out.stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (out.stderr += chunk.toString()));
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, ...out }));
  return {
    ended,
    terminate: () => void child.kill("SIGTERM"),
    async wrote(text) {
      let over = false;
      void ended.then(() => (over = true));
      while (!out.stdout.includes(text)) {
        if (over) throw new Error(`${program} ended without ${text}: ${out.stdout}${out.stderr}`);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null) child.kill("SIGKILL");
      await ended;
    },
  };
}

/** Parses a log of JSON lines. */
export function linesOf(stdout: string): Record<string, unknown>[] {
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

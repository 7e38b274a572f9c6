import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** A running sample of a README. Disposal kills its process. */
export interface RunningSample extends AsyncDisposable {
  /** The URL at which the sample listens; rejects if the sample exits without listening. */
  readonly url: Promise<string>;
  /** Resolves to the exit code and the output when the process exits. */
  readonly ended: Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>;
  /** Returns its standard output so far. */
  stdout(): string;
  stderr(): string;
  kill(signal?: NodeJS.Signals): void;
}

/** Returns the fenced blocks of a language in a Markdown text. */
export function codeBlocks(markdown: string, language: string): string[] {
  return [...markdown.matchAll(/^```(\w+)[^\n]*\n([\s\S]*?)^```$/gm)]
    .filter((match) => match[1] === language)
    .map((match) => match[2] ?? "");
}

/**
 * Runs the n-th ```js block (from 0) of a Markdown file in a child process, from a file in the same folder, so that its
 * imports resolve as a reader's would. `listen(anything)` goes to a free port of the loopback interface.
 *
 * @param markdownUrl for example `new URL("../README.md", import.meta.url)`
 * @param replace replacements for strings of the sample that only work on the reader's machine
 */
export async function runSample(
  markdownUrl: URL,
  index = 0,
  { env = {}, replace = {}, files = {}, commonjs = false }: SampleOptions = {},
): Promise<RunningSample> {
  const markdown = await readFile(markdownUrl, "utf8");
  let code = codeBlocks(markdown, "js")[index];
  if (code === undefined) throw new Error(`there is no js block ${index} in ${markdownUrl.pathname}`);
  for (const [from, to] of Object.entries(replace)) {
    if (!code.includes(from)) throw new Error(`the sample does not contain ${from}`);
    code = code.replaceAll(from, to);
  }
  const folder = await mkdtemp(join(fileURLToPath(new URL(".", markdownUrl)), ".readme-"));
  const file = join(folder, commonjs ? "sample.cjs" : "sample.mjs");
  await writeFile(file, code);
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const preload = new URL("./sample-preload.ts", import.meta.url).href;
  const child = spawn(process.execPath, ["--conditions=@svc/source", "--import", preload, file], {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, stdout, stderr }));
  const url = new Promise<string>((resolve, reject) => {
    child.on("message", (message: { url: string }) => resolve(message.url));
    void ended.then(({ code }) =>
      reject(new Error(`the sample ended with ${code} before it listened\n${stderr}`)),
    );
  });
  url.catch(() => undefined);
  return {
    url,
    ended,
    stdout: () => stdout,
    stderr: () => stderr,
    kill: (signal) => void child.kill(signal),
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null) child.kill("SIGKILL");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Options of {@link runSample}. */
export interface SampleOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly replace?: Readonly<Record<string, string>>;
  /** Files to put into the sample's working directory. */
  readonly files?: Readonly<Record<string, string>>;
  readonly commonjs?: boolean;
}

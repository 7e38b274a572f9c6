import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";

/** The exit of a process. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** When the process exited, by `performance.now()`. */
  readonly at: number;
}

/** A service in a child process. Disposal kills it. */
export interface ServiceProcess extends AsyncDisposable {
  readonly port: number;
  readonly pid: number;
  /** The complete lines of the service's standard output so far. */
  readonly lines: readonly string[];
  readonly exited: Promise<Exit>;
  readonly exit: Exit | undefined;
  /** How the process ended, with the end of its standard error; "it runs" while it runs. */
  readonly ending: string;
  signal(name: NodeJS.Signals): void;
  /** Sends a question, which the service answers with `answerQuestions()`. */
  ask<T>(question: string): Promise<T>;
  /** Starts reading the service's standard output when `readOutput` was false. */
  readOutput(): void;
  /** Closes the reading end of the service's standard output. */
  closeOutput(): void;
}

interface StartOptions {
  readonly execArgv?: readonly string[];
  /** Whether to read standard output from the start. Default: true. */
  readonly readOutput?: boolean;
}

const startMs = 60_000;
const answerMs = 20_000;

/**
 * Starts a file of `services/`, and waits until it announces its port. The service gets only those variables of this
 * process's environment that it needs to start. It exits when this process exits.
 *
 * @param settings the value that the file reads with `settingsOfParent()`
 * @throws Error with the end of the service's standard error when it does not start
 */
export async function startService(
  file: string,
  settings: object,
  { execArgv = [], readOutput = true }: StartOptions = {},
): Promise<ServiceProcess> {
  const path = fileURLToPath(new URL(`../services/${file}`, import.meta.url));
  const args = ["--conditions=@svc/source", ...execArgv, path, JSON.stringify(settings)];
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    env: {
      PATH: process.env["PATH"],
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      NODE_OPTIONS: process.env["NODE_OPTIONS"],
    },
  });
  let exit: Exit | undefined;
  const exited = new Promise<Exit>((resolve) => {
    child.once("exit", (code, signal) => {
      exit = { code, signal, at: performance.now() };
      resolve(exit);
    });
  });
  const lines: string[] = [];
  const stdout = child.stdout as Socket;
  let errors = "";
  child.stderr?.on("data", (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-4000)));
  if (readOutput) collectLines(stdout, lines);

  const end = async (): Promise<void> => {
    if (exit === undefined) child.kill("SIGKILL");
    await exited;
    stdout.destroy();
  };
  try {
    const { port } = await message<{ port: number }>(child, "port", exited, startMs);
    return {
      port,
      pid: child.pid ?? 0,
      lines,
      exited,
      get exit() {
        return exit;
      },
      get ending() {
        return exit === undefined ? "it runs" : `it ended with ${exit.code ?? exit.signal}: ${errors}`;
      },
      signal: (name) => void child.kill(name),
      ask<T>(question: string) {
        child.send({ question });
        return message<Record<string, T>>(child, question, exited, answerMs).then(
          (message) => message[question] as T,
        );
      },
      readOutput: () => collectLines(stdout, lines),
      closeOutput: () => void stdout.destroy(),
      [Symbol.asyncDispose]: end,
    };
  } catch (error) {
    await end();
    throw new Error(`${file} did not start: ${String(error)} ${errors}`, { cause: error });
  }
}

/** Appends complete lines to `lines`, and keeps an incomplete one until its line feed arrives. */
function collectLines(stream: Socket, lines: string[]): void {
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("data", (text: string) => {
    const parts = (rest + text).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) lines.push(part);
  });
  stream.on("error", () => undefined);
}

/**
 * Waits for a message of the child that contains `key`. The IPC channel closes after the last message; the `exit` event
 * may precede that message when another child exits at the same time.
 */
async function message<T extends object>(
  child: ChildProcess,
  key: string,
  exited: Promise<Exit>,
  ms: number,
): Promise<T> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(new Error(`no message with ${key} within ${ms} ms`)), ms);
  const ended = (): void =>
    void exited.then(({ code, signal }) =>
      over.abort(new Error(`ended with ${code ?? signal} before its message with ${key}`)),
    );
  if (child.connected) child.once("disconnect", ended);
  else ended();
  try {
    for (;;) {
      const [message] = (await once(child, "message", { signal: over.signal })) as [object];
      if (Object.hasOwn(message, key)) return message as T;
    }
  } catch (error) {
    throw over.signal.aborted ? over.signal.reason : error;
  } finally {
    clearTimeout(timer);
    child.off("disconnect", ended);
  }
}

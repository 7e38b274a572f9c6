import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Runs `svc-keys` on one directory, as an operator would. */
export interface KeyCommands {
  /** @throws Error when the exit code is not 0 */
  run(...args: readonly string[]): Promise<void>;
  /** Returns the reason for which `svc-keys` refuses a command; `done` when it succeeds. */
  refusal(...args: readonly string[]): Promise<string>;
  /** Returns the ids of the keys that are in the given state. */
  kids(state: string): Promise<readonly string[]>;
}

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The part of `@svc/token-issuer` that runs one command and returns its output. */
interface Inner {
  readonly runKeyCommand: (given: readonly string[], now: () => number) => Promise<string>;
}

/**
 * @param isProgram whether each command is a child process; if false, the same code runs in this process. Default: true
 */
export function createKeyCommands(folder: string, isProgram = true): KeyCommands {
  const source = import.meta.resolve("@svc/token-issuer");

  async function executeHere(args: readonly string[]): Promise<Ended> {
    const { runKeyCommand } = (await import(new URL("key-commands.ts", source).href)) as Inner;
    try {
      const stdout = await runKeyCommand([...args, "--file", folder, "--json"], () => Date.now());
      return { code: 0, stdout, stderr: "" };
    } catch (error) {
      const { reason, message } = error as Error & { readonly reason?: string };
      return { code: 1, stdout: "", stderr: JSON.stringify({ reason, message }) };
    }
  }

  function execute(args: readonly string[]): Promise<Ended> {
    if (!isProgram) return executeHere(args);
    const program = fileURLToPath(new URL("command-line.ts", source));
    const all = ["--conditions=@svc/source", program, ...args, "--file", folder, "--json"];
    return new Promise((resolve) => {
      const child = execFile(process.execPath, all, (_error, stdout, stderr) => {
        resolve({ code: child.exitCode ?? -1, stdout, stderr });
      });
    });
  }

  async function succeed(args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await execute(args);
    if (code !== 0) throw new Error(`svc-keys ${args.join(" ")} ended with ${code}: ${stderr}`);
    return stdout;
  }

  return {
    async run(...args) {
      await succeed(args);
    },
    async refusal(...args) {
      const { code, stderr } = await execute(args);
      if (code === 0) return "done";
      return (JSON.parse(stderr) as { readonly reason?: string }).reason ?? stderr;
    },
    async kids(state) {
      const listed = JSON.parse(await succeed(["list"])) as {
        readonly keys: readonly { readonly kid: string; readonly state: string }[];
      };
      return listed.keys.filter((key) => key.state === state).map((key) => key.kid);
    },
  };
}

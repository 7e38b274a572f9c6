import { run } from "@svc/load-test";
import { Readable } from "node:stream";

/** The exit code and the output of the command. */
export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The settings of {@link command}. */
export interface Surroundings {
  readonly input?: string;
  readonly signal?: AbortSignal;
  readonly isTTY?: boolean;
}

/** Runs the command in this process. */
export async function command(
  given: readonly string[],
  { input = "", signal = new AbortController().signal, isTTY = false }: Surroundings = {},
): Promise<Ran> {
  let stdout = "";
  let stderr = "";
  const code = await run(given, {
    stdin: Readable.from([input]),
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text), isTTY },
    signal,
  });
  return { code, stdout, stderr };
}

/** Flags of a run that is as short as possible, in which a busy machine causes no break. */
export const short: readonly string[] = "-c 2 -d 0.1 --warm-up 0 --max-p99-ms 60000".split(" ");

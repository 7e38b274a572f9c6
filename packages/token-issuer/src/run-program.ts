import { runKeyCommand, svcKeys } from "./key-commands.ts";
import { KeyRingError } from "./key-ring-error.ts";

/** The end of a run of `svc-keys`. */
export interface ProgramEnd {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs `svc-keys`. Never rejects: every error has an exit code and a text.
 *
 * @param given the arguments after the name of the program
 */
export async function runProgram(given: readonly string[]): Promise<ProgramEnd> {
  try {
    return { code: 0, stdout: await runKeyCommand(given, () => Date.now()), stderr: "" };
  } catch (error) {
    const json = given.includes("--json");
    const message = error instanceof Error ? error.message : String(error);
    const { code, reason } =
      error instanceof KeyRingError ? error : { code: "ERR_SVC_KEYS", reason: undefined };
    const { text, exitCode } = svcKeys.failure(error, { json, code, reason, message });
    return { code: exitCode, stdout: "", stderr: text };
  }
}

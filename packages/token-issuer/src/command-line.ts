#!/usr/bin/env node
import { runKeyCommand, svcKeys } from "./key-commands.ts";
import { KeyRingError } from "./key-ring-error.ts";

const given = process.argv.slice(2);

runKeyCommand(given, () => Date.now()).then(
  (text) => {
    process.stdout.write(text);
  },
  (error: unknown) => {
    const json = given.includes("--json");
    const message = error instanceof Error ? error.message : String(error);
    const { code, reason } =
      error instanceof KeyRingError ? error : { code: "ERR_SVC_KEYS", reason: undefined };
    const { text, exitCode } = svcKeys.failure(error, { json, code, reason, message });
    process.exitCode = exitCode;
    process.stderr.write(text);
  },
);

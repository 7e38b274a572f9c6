#!/usr/bin/env node
import { InvalidUse } from "./command-arguments.ts";
import { runKeyCommand } from "./key-commands.ts";
import { KeyRingError } from "./key-ring-error.ts";

const given = process.argv.slice(2);

runKeyCommand(given, () => Date.now()).then(
  (text) => {
    process.stdout.write(text);
  },
  (error: unknown) => {
    const wrongUse = error instanceof InvalidUse;
    process.exitCode = wrongUse ? 2 : 1;
    const message = error instanceof Error ? error.message : String(error);
    if (given.includes("--json")) {
      const code = wrongUse || error instanceof KeyRingError ? error.code : "ERR_SVC_KEYS";
      const reason = error instanceof KeyRingError ? error.reason : undefined;
      process.stderr.write(`${JSON.stringify({ code, reason, message })}\n`);
      return;
    }
    process.stderr.write(`svc-keys: ${message}\n${wrongUse ? "svc-keys --help tells more\n" : ""}`);
  },
);

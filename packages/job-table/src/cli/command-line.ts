#!/usr/bin/env node
import { safeErrorText } from "@svc/sql";
import { InvalidUse } from "./arguments.ts";
import { runJobCommand } from "./run.ts";
import { JobError } from "../errors.ts";

const given = process.argv.slice(2);
const interruption = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interruption.abort());

runJobCommand(given, {
  databaseUrl: process.env["DATABASE_URL"],
  width: process.stdout.isTTY ? process.stdout.columns : Infinity,
  interrupted: interruption.signal,
}).then(
  ({ text, exitCode }) => {
    process.stdout.write(text);
    process.exitCode = exitCode;
  },
  (error: unknown) => {
    const wrongUse = error instanceof InvalidUse;
    process.exitCode = wrongUse ? 2 : 1;
    const said = error instanceof Error ? error.message : "";
    const message = said === "" ? safeErrorText(error) : said;
    if (given.includes("--json")) {
      const code = wrongUse || error instanceof JobError ? error.code : "ERR_SVC_JOBS";
      process.stderr.write(`${JSON.stringify({ code, message })}\n`);
      return;
    }
    process.stderr.write(`svc-jobs: ${message}\n${wrongUse ? "svc-jobs --help tells more\n" : ""}`);
  },
);

#!/usr/bin/env node
import { safeErrorText } from "@svc/sql";
import { runJobCommand, svcJobs } from "./run.ts";
import { JobError } from "../errors.ts";

const given = process.argv.slice(2);
const interruption = new AbortController();
const insistence = new AbortController();
const signals = ["SIGINT", "SIGTERM"] as const;
// The first SIGINT or SIGTERM ends a drain gracefully, the second immediately; the third ends the process.
const interrupt = (): void => {
  if (!interruption.signal.aborted) return interruption.abort();
  insistence.abort();
  for (const signal of signals) process.off(signal, interrupt);
};
if (given.includes("drain")) for (const signal of signals) process.on(signal, interrupt);

// A reader such as `head` may close the pipe before all output is written.
process.stdout.on("error", () => process.exit());

// A handler module may exit the process or hang while it is imported; neither counts as success.
let answered = false;
process.once("exit", (code) => {
  if (answered || code !== 0) return;
  process.stderr.write("svc-jobs: the process ended before the command finished\n");
  process.exitCode = 1;
});

runJobCommand(given, {
  databaseUrl: process.env["DATABASE_URL"],
  width: process.stdout.isTTY ? process.stdout.columns : Infinity,
  interrupted: interruption.signal,
  insisted: insistence.signal,
}).then(
  ({ text, exitCode }) => {
    end(process.stdout, text, exitCode);
  },
  (error: unknown) => {
    const code = error instanceof JobError ? error.code : "ERR_SVC_JOBS";
    const json = given.includes("--json");
    const { text, exitCode } = svcJobs.failure(error, { json, code, message: messageOf(error) });
    end(process.stderr, text, exitCode);
  },
);

/** Writes a string and exits, because a handler module may hold connections that would keep the process alive. */
function end(stream: NodeJS.WriteStream, text: string, exitCode: number): void {
  answered = true;
  stream.write(text, () => process.exit(exitCode));
}

/**
 * Returns an error message without colours or control characters. Never shows an invalid connection string, which may
 * contain a password.
 */
function messageOf(error: unknown): string {
  const { message = "", code } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  if (code === "ERR_INVALID_URL") return "DATABASE_URL is not a connection string";
  return (message === "" ? safeErrorText(error) : message).replace(/[^\P{Cc}\n]/gu, "");
}

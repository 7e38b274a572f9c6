#!/usr/bin/env node
import { safeErrorText } from "@svc/sql";
import { InvalidUse } from "./arguments.ts";
import { runJobCommand } from "./run.ts";
import { JobError } from "../errors.ts";

const given = process.argv.slice(2);
const interruption = new AbortController();
const insistence = new AbortController();
const signals = ["SIGINT", "SIGTERM"] as const;
// The first ends a drain in order, the second at once, the third the process; other commands have nothing to lose.
const interrupt = (): void => {
  if (!interruption.signal.aborted) return interruption.abort();
  insistence.abort();
  for (const signal of signals) process.off(signal, interrupt);
};
if (given.includes("drain")) for (const signal of signals) process.on(signal, interrupt);

// `svc-jobs dead | head` reads no further than it wants.
process.stdout.on("error", () => process.exit());

// A module of handlers may end the process, or wait for what never happens: that is no success.
let answered = false;
process.once("exit", (code) => {
  if (answered || code !== 0) return;
  process.stderr.write("svc-jobs: the process ended before the command did\n");
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
    const wrongUse = error instanceof InvalidUse;
    const exitCode = wrongUse ? 2 : 1;
    const message = messageOf(error);
    if (given.includes("--json")) {
      const code = wrongUse || error instanceof JobError ? error.code : "ERR_SVC_JOBS";
      return end(process.stderr, `${JSON.stringify({ code, message })}\n`, exitCode);
    }
    const help = wrongUse ? "svc-jobs --help tells more\n" : "";
    end(process.stderr, `svc-jobs: ${message}\n${help}`, exitCode);
  },
);

/** A module of handlers may hold connections that nobody here can close, so the process does not wait for them. */
function end(stream: NodeJS.WriteStream, text: string, exitCode: number): void {
  answered = true;
  stream.write(text, () => process.exit(exitCode));
}

/** What goes to a terminal: no colours, no bells. A URL that cannot be read is not said to be one of the database. */
function messageOf(error: unknown): string {
  const { message = "", code } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  if (code === "ERR_INVALID_URL") return "DATABASE_URL is no connection string";
  return (message === "" ? safeErrorText(error) : message).replace(/[^\P{Cc}\n]/gu, "");
}

#!/usr/bin/env node
import { run } from "./run.ts";

// Replaces the arguments that other users of the machine can list, because --token is one of them.
process.title = "load-test";

const interrupted = new AbortController();
// A second Ctrl-C ends the process immediately.
process.once("SIGINT", () => interrupted.abort());
const { stdin, stdout, stderr } = process;
for (const output of [stdout, stderr]) {
  output.on("error", ({ code }: NodeJS.ErrnoException) => {
    // The reader of a pipe may end first, as `head` does. The exit code still says what happened.
    if (code === "EPIPE") return;
    if (output === stdout) stderr.write(`load-test: the output cannot be written: ${code}\n`);
    process.exit(2);
  });
}
process.exitCode = await run(process.argv.slice(2), { stdin, stdout, stderr, signal: interrupted.signal });

#!/usr/bin/env node
import { run } from "./run.ts";

// Replaces the arguments that other users of the machine can list, because --token is one of them.
process.title = "load-test";

const interrupted = new AbortController();
// A second Ctrl-C ends the process immediately.
process.once("SIGINT", () => interrupted.abort());
const { stdin, stdout, stderr } = process;
process.exitCode = await run(process.argv.slice(2), { stdin, stdout, stderr, signal: interrupted.signal });

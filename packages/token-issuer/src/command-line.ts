#!/usr/bin/env node
import { runProgram } from "./run-program.ts";

void runProgram(process.argv.slice(2)).then(({ code, stdout, stderr }) => {
  process.stdout.write(stdout);
  process.stderr.write(stderr);
  process.exitCode = code;
});

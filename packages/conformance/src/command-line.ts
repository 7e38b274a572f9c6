#!/usr/bin/env node
import { runProgram } from "./program.ts";

void runProgram(process.argv.slice(2), process).then((code) => {
  process.exitCode = code;
});

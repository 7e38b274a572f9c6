// Checks the types of one package and runs its tests, and repeats both after every change: npm run watch -w packages/x. npm
// starts it in the package's folder. It watches only that folder; changes in other packages take effect at the next run.
import { spawn } from "node:child_process";
import { watch } from "node:fs";

const quietMs = 100;
const shell = process.platform === "win32";
let timer;
let running;

for (const folder of ["src", "test"]) watch(folder, { recursive: true }, schedule);
await run();

/** Runs once after a group of changes, because an editor may write several files. */
function schedule() {
  clearTimeout(timer);
  timer = setTimeout(run, quietMs);
}

async function run() {
  running?.abort();
  const { signal } = (running = new AbortController());
  const passed =
    (await succeeds("tsc", ["-b", ".", "tsconfig.test.json"], signal)) &&
    (await succeeds("mocha", [], signal));
  if (!signal.aborted)
    console.log(`\n${passed ? "passed" : "FAILED"}; waiting for changes; press Ctrl+C to stop`);
}

/** Resolves with whether a command exits with 0. An aborted command is killed and counts as failed. */
function succeeds(command, args, signal) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: "inherit", shell, signal });
    child.once("error", () => resolve(false));
    child.once("close", (code) => resolve(code === 0));
  });
}

import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isRoot, ownFolder } from "./account.ts";

/**
 * Returns the folder through which the processes of one test run find each other: `SVC_TEST_RUN`, else a folder named
 * after mocha's main process.
 */
export function testRunFolder(env: NodeJS.ProcessEnv = process.env): string {
  const given = env.SVC_TEST_RUN;
  if (given !== undefined && existsSync(given)) return given;
  const folder = join(tmpdir(), `svc-test-run-${isRoot() ? "root-" : ""}${mainProcess(env)}`);
  ownFolder(folder);
  return folder;
}

/** Returns a name that all processes of one test run share. */
export function runName(env: NodeJS.ProcessEnv = process.env): string {
  return env.SVC_TEST_RUN ?? `process ${mainProcess(env)}`;
}

function mainProcess(env: NodeJS.ProcessEnv): number {
  // Mocha's workers are child processes of its main process.
  return env.MOCHA_WORKER_ID === undefined ? process.pid : process.ppid;
}

/** Returns whether a folder was named after a process; the test run itself does not remove such a folder. */
export function isNamedRun(folder: string): boolean {
  return folder !== process.env.SVC_TEST_RUN;
}

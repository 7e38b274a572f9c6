import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { isRoot, ownFolder } from "./account.ts";
import type { Charge } from "./watchdog.ts";

/**
 * Returns the folder through which the processes in one test run find each other: `SVC_TEST_RUN`, else a folder named
 * after mocha's main process.
 */
export function testRunFolder(env: NodeJS.ProcessEnv = process.env): string {
  const given = env.SVC_TEST_RUN;
  if (given !== undefined && existsSync(given)) return given;
  const folder = join(tmpdir(), `svc-test-run-${isRoot() ? "root-" : ""}${mainProcess(env)}`);
  ownFolder(folder);
  return folder;
}

/** Returns a name that all processes in one test run share. */
export function runName(env: NodeJS.ProcessEnv = process.env): string {
  return env.SVC_TEST_RUN ?? `process ${mainProcess(env)}`;
}

function mainProcess(env: NodeJS.ProcessEnv): number {
  // Mocha's workers are child processes of its main process.
  return env.MOCHA_WORKER_ID === undefined ? process.pid : process.ppid;
}

/**
 * Returns the paths that a server's watchdog removes: the file that describes the server, the server's folder, and the
 * run's folder, which the test run itself removes only if `SVC_TEST_RUN` names it.
 *
 * @param folder undefined if the server's data is kept
 */
export function removalOf(
  folder: string | undefined,
  infoFile: string | undefined,
): Pick<Charge, "remove" | "removeIfEmpty"> {
  const remove = [infoFile, folder].filter((each) => each !== undefined);
  const run = folder !== undefined && infoFile !== undefined ? dirname(infoFile) : undefined;
  return { remove, removeIfEmpty: run === process.env.SVC_TEST_RUN ? undefined : run };
}

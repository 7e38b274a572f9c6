import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const mocha = join(dirname(createRequire(import.meta.url).resolve("mocha/package.json")), "bin/mocha.js");

/** The result of running one test file in a separate mocha process. */
export interface MochaRun {
  readonly status: number | null;
  readonly passes: number;
  readonly failures: number;
  readonly pending: number;
  /** The full titles of the skipped tests. */
  readonly skipped: readonly string[];
  /** Standard output and standard error. */
  readonly output: string;
}

/**
 * Runs a test file in a separate mocha process, with the reporter of `npm test`.
 *
 * @param source JavaScript; its file is outside the repository, so it must import by URL
 */
export function runMocha(source: string, { isParallel = false, isCounted = true } = {}): MochaRun {
  const folder = mkdtempSync(join(tmpdir(), "svc-mocha-"));
  const counts = join(folder, "counts");
  try {
    const file = join(folder, "case.test.mjs");
    writeFileSync(file, source);
    const { SVC_TEST_COUNTS: _, ...env } = process.env;
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [mocha, "--reporter", "scripts/reporter.cjs", ...(isParallel ? ["--parallel"] : []), file],
      { cwd: root, encoding: "utf8", env: isCounted ? { ...env, SVC_TEST_COUNTS: counts } : env },
    );
    const found: object = isCounted ? (JSON.parse(readFileSync(counts, "utf8")) as object) : {};
    const none = { passes: 0, failures: 0, pending: 0, skipped: [] };
    return { ...none, ...found, status, output: stdout + stderr };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

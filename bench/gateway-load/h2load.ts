import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CONNECTIONS, type Load, outputOf, type Reading } from "./load.ts";

export const h2load: Load = {
  name: "h2load",
  program: { title: "h2load", files: ["h2load"], package: "nghttp2-client" },
  async run(file, url, seconds) {
    const folder = await mkdtemp(join(tmpdir(), "svc-h2load-"));
    try {
      const log = join(folder, "requests.log");
      await outputOf(file, ["--h1", "-t1", `-c${CONNECTIONS}`, `-D${seconds}`, `--log-file=${log}`, url]);
      return readLog(await readFile(log, "utf8"), seconds);
    } finally {
      await rm(folder, { recursive: true });
    }
  },
};

/**
 * Reads the lines of a log: time, status and microseconds. h2load itself prints no percentiles.
 *
 * @throws Error if a request failed
 */
export function readLog(log: string, seconds: number): Reading {
  const rows = log
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t"));
  const failed = rows.filter(([, status]) => status !== "200");
  if (failed.length > 0) throw new Error(`h2load: ${failed.length} of ${rows.length} requests failed`);
  const sorted = Float64Array.from(rows, ([, , micros]) => Number(micros)).toSorted();
  const p99 = sorted[Math.ceil(sorted.length * 0.99) - 1] ?? Number.NaN;
  return { requestsPerSecond: rows.length / seconds, p99Ms: p99 / 1000 };
}

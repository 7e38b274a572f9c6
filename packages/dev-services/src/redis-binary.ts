import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { isRoot } from "./account.ts";
import type { Attempt } from "./attempts.ts";

const PROGRAMS = ["redis-server", "valkey-server"];

/**
 * The Redis or Valkey to start: one that is on PATH, else as root with `CI=true` the Debian package, which is
 * installed without its service being started.
 *
 * @param attempts gets one entry for each way that leads nowhere
 */
export function findRedis(env: NodeJS.ProcessEnv, attempts: Attempt[]): string | undefined {
  const found = onPath(PROGRAMS, env);
  if (found !== undefined) return found;
  attempts.push({ rung: "installed", reason: `neither ${PROGRAMS.join(" nor ")} is on PATH` });
  const rung = "apt-get install redis-server";
  const aptGet = onPath(["apt-get"], env);
  if (!isRoot() || env.CI !== "true" || aptGet === undefined) {
    attempts.push({ rung, reason: "only as root, with CI=true and where apt-get exists" });
    return undefined;
  }
  const reason = install(aptGet, env);
  if (reason !== undefined) attempts.push({ rung, reason });
  return onPath(PROGRAMS, env);
}

function onPath(names: readonly string[], env: NodeJS.ProcessEnv): string | undefined {
  for (const name of names) {
    for (const folder of (env.PATH ?? "").split(delimiter)) {
      const file = join(folder, name);
      try {
        if (folder === "") continue;
        accessSync(file, constants.X_OK);
        return file;
      } catch {
        continue;
      }
    }
  }
  return undefined;
}

/** The reason in words when it does not succeed. */
function install(aptGet: string, env: NodeJS.ProcessEnv): string | undefined {
  // Debian starts what it installs unless this file forbids it.
  const policy = "/usr/sbin/policy-rc.d";
  const mine = !existsSync(policy);
  if (mine) writeFileSync(policy, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    for (const args of [["update"], ["install", "-y", "--no-install-recommends", "redis-server"]]) {
      const { status, stderr, error } = spawnSync(aptGet, ["-qq", ...args], {
        env: { ...env, DEBIAN_FRONTEND: "noninteractive" },
        encoding: "utf8",
        timeout: 180_000,
      });
      if (status !== 0) return `apt-get ${args[0]}: ${error?.message ?? stderr.trim().split("\n").at(-1)}`;
    }
    return undefined;
  } finally {
    if (mine) rmSync(policy, { force: true });
  }
}

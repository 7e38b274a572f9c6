// Checks the messages of all commits after the commit that added the rules for messages.
import { spawnSync } from "node:child_process";

const rules = "commitlint.config.mjs";

const added = git("log", "--diff-filter=A", "--format=%H", "--", rules);
const first = added?.split("\n").at(-1);
if (!first) {
  console.log(`commits: not checked, because the history does not reach the commit that added ${rules}`);
} else {
  const { status } = spawnSync("commitlint", ["--from", first, "--to", "HEAD"], {
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  process.exitCode = status ?? 1;
}

/** Returns the output of a git command; undefined outside of a repository. */
function git(...args) {
  const { status, stdout } = spawnSync("git", args, { encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
}

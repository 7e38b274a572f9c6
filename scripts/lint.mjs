// Lints with type information; every finding is an error. npx runs oxlint, which has platform binaries.
import { spawnSync } from "node:child_process";

const folders = process.argv.slice(2);
if (folders.length === 0) folders.push("packages", "examples", "bench", "experiments", "test");
const packages = ["-p", "oxlint@1.94.0", "-p", "oxlint-tsgolint@7.0.2007"];
const args = ["--yes", ...packages, "oxlint", "--type-aware", "--deny-warnings", ...folders];
process.exitCode =
  spawnSync("npx", args, { stdio: "inherit", shell: process.platform === "win32" }).status ?? 1;

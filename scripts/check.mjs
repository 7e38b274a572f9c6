// Everything that is checked without running the product's tests. Stops at nothing: all findings come in one run.
import { spawnSync } from "node:child_process";

const checks = [
  ["format", "prettier", ["--check", "--log-level", "warn", "."]],
  ["lint", "node", ["scripts/lint.mjs"]],
  ["layers", "node", ["scripts/check-layers.mjs"]],
  ["packages", "node", ["scripts/check-packages.mjs"]],
];

for (const [name, command, args] of checks) {
  const before = performance.now();
  const { status } = spawnSync(command, args, { stdio: "inherit", shell: process.platform === "win32" });
  console.log(
    `${name}: ${status === 0 ? "ok" : "FAILED"} after ${((performance.now() - before) / 1000).toFixed(1)} s`,
  );
  if (status !== 0) process.exitCode = 1;
}

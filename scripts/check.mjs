// Runs all checks that need no product tests. It continues after a failure, so that one run reports all findings.
import { spawnSync } from "node:child_process";

const checks = [
  ["format", "prettier", ["--check", "--log-level", "warn", "."]],
  ["lint", "node", ["scripts/lint.mjs"]],
  ["rules", "node", ["scripts/rules.mjs", "--missing"]],
  ["layers", "node", ["scripts/check-layers.mjs"]],
  ["commits", "node", ["scripts/check-commits.mjs"]],
  ["versions", "node", ["scripts/supported-versions.mjs", "--check"]],
  ["option tables", "node", ["--conditions=@svc/source", "scripts/option-tables.mjs", "--check"]],
  ["schema", "node", ["--conditions=@svc/source", "scripts/service-schema.mjs", "--check"]],
  ["manifests", "node", ["scripts/manifests.mjs", "--check"]],
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

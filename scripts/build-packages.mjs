// Builds the published packages for a release, from empty folders, so that no compiled file of a deleted source is published.
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { publishedManifests } from "./workspace.mjs";

const folders = [...publishedManifests().values()].map(({ folder }) => folder);
for (const folder of folders) rmSync(join(folder, "dist"), { recursive: true, force: true });
const { status } = spawnSync("tsc", ["-b", ...folders], {
  stdio: "inherit",
  shell: process.platform === "win32",
});
process.exitCode = status ?? 1;

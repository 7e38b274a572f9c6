// Removes the build output, so that no compiled file of a deleted source is published.
import { globSync, rmSync } from "node:fs";

for (const folder of globSync("packages/*/dist")) rmSync(folder, { recursive: true, force: true });

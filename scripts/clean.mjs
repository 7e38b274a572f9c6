// Removes what was built, so that nothing of a source that is gone is published.
import { globSync, rmSync } from "node:fs";

for (const folder of globSync("packages/*/dist")) rmSync(folder, { recursive: true, force: true });

// Checks before packages are published that the commit, or one of its ancestors, has the tag of each version, such as
// @svc/sql@0.1.0. `npm run release` makes the tags. A version without a tag would have no changelog and no known source.
import { execFileSync } from "node:child_process";
import { publishedManifests } from "./workspace.mjs";

const tags = new Set(execFileSync("git", ["tag", "--merged", "HEAD"], { encoding: "utf8" }).split("\n"));
const wanted = [...publishedManifests().values()].map(({ name, version }) => `${name}@${version}`);
const missing = wanted.filter((tag) => !tags.has(tag));
if (missing.length > 0) {
  console.error(`no tag for ${missing.join(", ")}: run npm run release first, and fetch all tags`);
  process.exitCode = 1;
}

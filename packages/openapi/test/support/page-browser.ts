import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";

const folder = fileURLToPath(new URL("../../../../artifacts/screenshots/", import.meta.url));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Returns the faults that axe-core finds on the page, one line per element. */
export async function accessibilityFaults(page: Page): Promise<readonly string[]> {
  // Evaluate axe-core, because the page's policy forbids adding a script.
  await page.evaluate(axe);
  return page.evaluate<string[]>(`axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ": " + html + " " + failureSummary)))`);
}

/** Writes a screenshot of the page to `artifacts/screenshots/<name>.png` in the repository. */
export async function takeScreenshot(page: Page, name: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: `${folder}${name}.png`, fullPage: true });
}

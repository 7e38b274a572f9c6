import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";

const folder = fileURLToPath(new URL("../../../../../artifacts/screenshots/", import.meta.url));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Without a window. */
export function launch(executablePath: string): Promise<Browser> {
  // Chromium refuses to build its sandbox as root.
  return chromium.launch({ executablePath, chromiumSandbox: process.getuid?.() !== 0 });
}

/** What axe-core finds wrong with the page, one line for each place. */
export async function accessibilityFaults(page: Page): Promise<readonly string[]> {
  // Evaluated rather than added to the page, whose policy allows no script.
  await page.evaluate(axe);
  return page.evaluate<string[]>(`axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ": " + html + " " + failureSummary)))`);
}

/** Writes what the page looks like to `artifacts/screenshots/<name>.png` of the repository. */
export async function takeScreenshot(page: Page, name: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: `${folder}${name}.png`, fullPage: true });
}

import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";

const folder = fileURLToPath(new URL("../../../../../artifacts/screenshots/", import.meta.url));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe-core finds wrong with the page, one line for each place. */
export async function accessibilityFaults(page: Page): Promise<readonly string[]> {
  // Evaluated rather than added to the page, whose policy allows no script of others.
  await page.evaluate(axe);
  return page.evaluate<string[]>(`axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ": " + html + " " + failureSummary)))`);
}

/** Writes what the page looks like to `artifacts/screenshots/<name>.png` of the repository. */
export async function takeScreenshot(page: Page, name: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: `${folder}${name}.png`, fullPage: true });
}

/** What has the focus, and whether one can see that. */
export interface Focused {
  /** Such as `button Sign in`, `input email` or `pre`; empty where nothing has it. */
  readonly what: string;
  readonly outlined: boolean;
}

/** Goes through the page by the Tab key alone, from its first stop to its last. */
export async function tabThrough(page: Page): Promise<readonly Focused[]> {
  // Where a field has the focus from the start, what stands in front of it comes last.
  if ((await page.evaluate<Focused>(focused)).what !== "") await stopsUntilTheEnd(page);
  return stopsUntilTheEnd(page);
}

async function stopsUntilTheEnd(page: Page): Promise<readonly Focused[]> {
  const stops: Focused[] = [];
  for (let presses = 0; presses < 40; presses++) {
    await page.keyboard.press("Tab");
    const now = await page.evaluate<Focused>(focused);
    if (now.what === "") return stops;
    stops.push(now);
  }
  throw new Error("it goes round in circles");
}

const focused = `(() => {
  const element = document.activeElement;
  if (element === null || element === document.body) return { what: "", outlined: false };
  const { outlineStyle, outlineWidth } = getComputedStyle(element);
  const outlined = outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
  const name = element.matches("a, button, summary") ? element.textContent : element.name ?? element.ariaLabel ?? "";
  return { what: (element.localName + " " + name).trim(), outlined };
})()`;

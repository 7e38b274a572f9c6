import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";

const folder = fileURLToPath(new URL("../../../../../artifacts/screenshots/", import.meta.url));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Returns the faults that axe-core finds in the page, one line for each element. */
export async function accessibilityFaults(page: Page): Promise<readonly string[]> {
  // Evaluate the code of axe-core, because the page's policy forbids adding a script.
  await page.evaluate(axe);
  return page.evaluate<string[]>(`axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ": " + html + " " + failureSummary)))`);
}

/** Writes a screenshot of the page to `artifacts/screenshots/<name>.png` of the repository. */
export async function takeScreenshot(page: Page, name: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: `${folder}${name}.png`, fullPage: true });
}

/** The element with the focus, and whether the focus is visible. */
export interface Focused {
  /** For example `button Sign in`, `input email` or `pre`; empty if no element has the focus. */
  readonly what: string;
  readonly outlined: boolean;
}

/** Returns all elements that the Tab key reaches, in order. */
export async function tabThrough(page: Page): Promise<readonly Focused[]> {
  // If a field has the focus at first, the elements before it come last.
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
  throw new Error("the Tab key never leaves the page");
}

const focused = `(() => {
  const element = document.activeElement;
  if (element === null || element === document.body) return { what: "", outlined: false };
  const { outlineStyle, outlineWidth } = getComputedStyle(element);
  const outlined = outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
  const name = element.matches("a, button, summary") ? element.textContent : element.name ?? element.ariaLabel ?? "";
  return { what: (element.localName + " " + name).trim(), outlined };
})()`;

import type { BrowserContext, Locator, Page } from "playwright-core";
import { demoPassword } from "../../../src/demo-users.ts";

/** What a person does at the provider: says who they are, and lets the service know. */
export async function signInThere(page: Page, name = "The clerk of harbour-cafe"): Promise<void> {
  await sayWhoThere(page, name);
  const allow = page.getByRole("button", { name: "Allow" });
  // Who has allowed it before is not asked again.
  await Promise.race([allow.waitFor(), page.waitForURL((url) => url.hostname !== "127.0.0.1")]);
  if (new URL(page.url()).hostname === "127.0.0.1") await allow.click();
  await page.waitForURL((url) => url.hostname !== "127.0.0.1");
}

/** The first half of it. */
export async function sayWhoThere(page: Page, name = "The clerk of harbour-cafe"): Promise<void> {
  await page.getByRole("radio", { name }).check();
  await page.getByRole("button", { name: "Continue" }).click();
}

/** A cookie as the browser keeps it. */
export interface KeptCookie {
  readonly name: string;
  readonly value: string;
  readonly domain: string;
  readonly path: string;
  readonly httpOnly: boolean;
  readonly secure: boolean;
  readonly sameSite?: string | undefined;
  readonly session: boolean;
  /** In seconds since 1970; -1 for one that goes with the browser. */
  readonly expires: number;
}

/** All cookies that the browser keeps, by name: asked for over the DevTools protocol, so those no script sees too. */
export async function keptCookies(context: BrowserContext): Promise<ReadonlyMap<string, KeptCookie>> {
  const [page] = context.pages();
  if (page === undefined) throw new Error("no page is open");
  const devTools = await context.newCDPSession(page);
  const { cookies } = await devTools.send("Network.getAllCookies");
  await devTools.detach();
  return new Map(cookies.map((cookie) => [cookie.name, cookie]));
}

/** Signs in with a password on the page that is open. */
export async function signInWithPassword(
  page: Page,
  email = "clerk@harbour-cafe.example",
  password = demoPassword,
): Promise<void> {
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password").fill(password);
  await follow(page.getByRole("button", { name: "Sign in" }));
}

/** Clicks on what leads to another page, and waits until that is there. */
export async function follow(link: Locator): Promise<void> {
  const page = link.page();
  // What leads there may be seen before its own page is loaded, and that is not the one to wait for.
  await page.waitForLoadState();
  const loaded = page.waitForEvent("load");
  await link.click();
  await loaded;
}

/** The heading of the page. */
export async function headingOf(page: Page): Promise<string> {
  return (await page.locator("h1").textContent()) ?? "";
}

/** Path and query of the page. */
export function placeOf(page: Page): string {
  const { pathname, search } = new URL(page.url());
  return pathname + search;
}

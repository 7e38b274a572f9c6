import type { BrowserContext, Locator, Page } from "playwright-core";
import { demoPassword } from "../../../src/demo-users.ts";

/** Signs a person in at the provider: chooses the person and gives consent. */
export async function signInThere(page: Page, name = "The clerk of harbour-cafe"): Promise<void> {
  await sayWhoThere(page, name);
  const allow = page.getByRole("button", { name: "Allow" });
  // The provider does not ask again after an earlier consent.
  await Promise.race([allow.waitFor(), page.waitForURL((url) => url.hostname !== "127.0.0.1")]);
  if (new URL(page.url()).hostname === "127.0.0.1") await allow.click();
  await page.waitForURL((url) => url.hostname !== "127.0.0.1");
}

/** Chooses the person at the provider. */
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
  /** In seconds since 1970; -1 for a session cookie. */
  readonly expires: number;
}

/** Returns all cookies of the browser by name, including HttpOnly cookies, through the DevTools protocol. */
export async function keptCookies(context: BrowserContext): Promise<ReadonlyMap<string, KeptCookie>> {
  const [page] = context.pages();
  if (page === undefined) throw new Error("no page is open");
  const devTools = await context.newCDPSession(page);
  const { cookies } = await devTools.send("Network.getAllCookies");
  await devTools.detach();
  return new Map(cookies.map((cookie) => [cookie.name, cookie]));
}

/** Signs in with a password on the open page. */
export async function signInWithPassword(
  page: Page,
  email = "clerk@harbour-cafe.example",
  password = demoPassword,
): Promise<void> {
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password").fill(password);
  await follow(page.getByRole("button", { name: "Sign in" }));
}

/** Clicks on a link or button and waits until the next page is loaded. */
export async function follow(link: Locator): Promise<void> {
  const page = link.page();
  // The link may be visible before its own page is loaded: wait for that `load` event first, or it would count as the
  // next page's.
  await page.waitForLoadState();
  const loaded = page.waitForEvent("load");
  await link.click();
  await loaded;
}

/** Returns the heading of the page. */
export async function headingOf(page: Page): Promise<string> {
  return (await page.locator("h1").textContent()) ?? "";
}

/** Returns path and query of the page. */
export function placeOf(page: Page): string {
  const { pathname, search } = new URL(page.url());
  return pathname + search;
}

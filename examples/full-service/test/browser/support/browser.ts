import { testProgram } from "@svc/dev-services";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { launchChromium } from "./chromium.ts";

/** The browser of the tests of a `describe`. */
export interface TestBrowser {
  /** Opens a browser context with its own cookies, which is closed after the test. */
  visitor(options?: BrowserContextOptions): Promise<Visitor>;
}

/** A browser with one page open. */
export interface Visitor {
  readonly context: BrowserContext;
  readonly page: Page;
}

/**
 * For a `describe`: starts a Chromium. Without Chromium the describe is skipped as by `testProgram()`.
 *
 * @param trusted the certificates that it trusts
 */
export function testBrowser(trusted: readonly { readonly spkiHash: string }[] = []): TestBrowser {
  const chromium = testProgram("chromium");
  const contexts: BrowserContext[] = [];
  let browser: Browser | undefined;

  before("a browser", async function () {
    this.timeout(60_000);
    browser = await launchChromium(chromium.path, trusted);
  });

  afterEach("close what the test opened", async () => {
    await Promise.all(contexts.splice(0).map((context) => context.close()));
  });

  after("close the browser", async () => {
    await browser?.close();
  });

  return {
    async visitor(options) {
      if (browser === undefined) throw new Error("the browser runs only inside of tests");
      const context = await browser.newContext(options);
      contexts.push(context);
      // Fail if a page takes longer than this.
      context.setDefaultTimeout(15_000);
      return { context, page: await context.newPage() };
    },
  };
}

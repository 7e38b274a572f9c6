import { testDatabase, testProgram } from "@svc/dev-services";
import { queueRoutes } from "@svc/job-table";
import { expect } from "chai";
import type { Browser, Page } from "playwright-core";
import { openBench } from "../support/bench.ts";
import { accessibilityFaults, launch, takeScreenshot } from "./support/browser.ts";
import { serve } from "./support/stacks.ts";

/** Performs an action and waits until the next page is loaded. */
async function leads(page: Page, act: () => Promise<void>): Promise<void> {
  await Promise.all([page.waitForEvent("load"), act()]);
}

describe("the queue page in Chromium", function () {
  this.timeout(60_000);
  const chromium = testProgram("chromium");
  let browser: Browser | undefined;

  before("a browser", async () => {
    browser = await launch(chromium.path);
  });

  const database = testDatabase({ name: "job-page-browser" });

  after("close the browser", async () => {
    await browser?.close();
  });

  it("JOB-32 retries a dead job with its button, without scripts and by keyboard; axe-core finds no fault", async () => {
    await using bench = await openBench(database.url, { name: "mail_jobs" });
    const { table } = bench;
    for (const [id, error] of [
      ["welcome-ann", "Error: connect ECONNREFUSED mail.example:25"],
      ["welcome-bob", "the address <bob@> is invalid"],
      ["invoice-7", "TypeError: Cannot read properties of undefined (reading 'lines')"],
    ] as const) {
      const task = id.startsWith("welcome") ? "mail.welcome" : "invoice.send";
      await table.enqueue({ id, task, tenantId: "harbour-cafe" });
      const [job] = await table.claim();
      if (job !== undefined) await table.fail(job, error, { dead: true });
    }
    await table.enqueue({ id: "report-1", task: "report.month", tenantId: "nordic-bikes" });
    await table.claim();
    await table.enqueue({ task: "sweep", availableAt: new Date(Date.now() - 200_000) });
    // Ids with line breaks, which a form would change, and with special characters.
    const odd = ["a\rb", "a\nb", "a\r\nb", "../?id=%0a&all=1", `"><i id="x`, " ", ""];
    const schedules = () => [{ name: "nightly", task: "report.make", at: "2026-01-02T02:30:00.000Z" }];
    await using server = await serve("express 5", [queueRoutes({ table, schedules })], "/admin");
    const context = await browser?.newContext({ javaScriptEnabled: false });
    const page = await context?.newPage();
    if (page === undefined) throw new Error("there is no browser");
    const complaints: string[] = [];
    page.on("console", (message) => complaints.push(message.text()));
    await page.goto(`${server.url}/admin/queue`);
    await takeScreenshot(page, "queue");
    expect(await page.locator("button[name=id]").count()).to.equal(3);
    const button = page.getByRole("button", { name: "Retry mail.welcome, welcome-bob" });
    const background = await page.evaluate<string>(
      "getComputedStyle(document.querySelector('button')).backgroundColor",
    );
    expect(background, "the style is allowed").to.equal("rgb(11, 79, 158)");
    const outlines: string[] = [];
    for (let presses = 0; presses < 6; presses++) {
      await page.keyboard.press("Tab");
      outlines.push(await page.evaluate("getComputedStyle(document.activeElement).outlineStyle"));
    }
    expect(outlines).to.deep.equal(Array.from({ length: 6 }, () => "solid"));
    await button.focus();
    await leads(page, () => page.keyboard.press("Enter"));
    await page.getByRole("status").waitFor();
    expect(await page.getByRole("status").textContent()).to.equal("1 dead letter is pending again.");
    expect(new URL(page.url()).pathname).to.equal("/admin/queue");
    expect(await page.locator("button[name=id]").count()).to.equal(2);
    const statuses = (await bench.rows()).map(({ id, status }) => [id, status]);
    expect(Object.fromEntries(statuses)).to.include({ "welcome-bob": "pending", "welcome-ann": "dead" });

    const narrow = await browser?.newContext({ viewport: { width: 360, height: 700 } });
    const again = await narrow?.newPage();
    if (again === undefined) throw new Error("there is no browser");
    again.on("console", (message) => complaints.push(message.text()));
    await again.goto(`${server.url}/admin/queue?retried=1`);
    expect(await accessibilityFaults(again)).to.deep.equal([]);
    expect(await again.evaluate("document.documentElement.scrollWidth")).to.be.at.most(360);
    await leads(again, () => again.getByRole("button", { name: "Retry all 2 dead letters" }).click());
    await again.getByText("2 dead letters are pending again.").waitFor();
    expect(await accessibilityFaults(again)).to.deep.equal([]);
    await bench.pool.query(
      "insert into mail_jobs (id, task, status, last_error) select id, $2, 'dead', $2 from unnest($1::text[]) as id",
      [odd, "<img src=x onerror=alert(1)></table>"],
    );
    await again.reload();
    expect(await accessibilityFaults(again)).to.deep.equal([]);
    expect(await again.locator("img, #x").count()).to.equal(0);
    for (let left = odd.length; left > 0; left--) {
      // Wait for the next page, because the previous one shows the same text.
      await leads(again, () =>
        again
          .getByRole("button", { name: /^Retry </ })
          .first()
          .click(),
      );
      await again.getByText("1 dead letter is pending again.").waitFor();
      expect(await again.getByRole("button", { name: /^Retry </ }).count()).to.equal(left - 1);
    }
    expect(complaints).to.deep.equal([]);
    await Promise.all([context?.close(), narrow?.close()]);
  });
});

import { createDatabase } from "@svc/database";
import { createJobTable } from "@svc/job-table";
import { until } from "@svc/test-support";
import { expect } from "chai";
import type { Page } from "playwright-core";
import type { Import } from "../../src/imports/import.ts";
import { importTask } from "../../src/imports/job.ts";
import { beginImport, findImport, importJobId, importQueued, stageRows } from "../../src/imports/store.ts";
import { accessibilityFaults, tabThrough, takeScreenshot } from "./support/looks.ts";
import { otherPage } from "./support/other-page.ts";
import { hasVectorServer, otherHosts, testSite } from "./support/site.ts";
import { follow, headingOf, placeOf, sayWhoThere, signInThere, signInWithPassword } from "./support/steps.ts";

const narrow = { width: 320, height: 640 };

interface View {
  readonly heading: string;
  /** The elements that the Tab key reaches, in order. */
  readonly stops: readonly string[];
  readonly open: (page: Page) => Promise<void>;
}

const receipts: View = {
  heading: "Search receipts",
  stops: [
    "input q",
    "select category",
    "button Search",
    "a the expense of <date>: Printer paper and toner. Ten boxes of pr",
    "a the expense of <date>: Sandwiches for the workshop. Forty sandw",
    "a the expense of <date>: First-aid kit. First-aid kit for the wor",
    "a the expense of <date>: Lunch with a supplier. Lunch for four wi",
    "a Reports",
    "a Start page",
  ],
  async open(page) {
    await page.goto("/receipts?q=printer+for+the+workshop");
    await signInWithPassword(page);
  },
};
const signInStops = ["input email", "input password", "button Sign in", "a Sign in with demo"];
const reportStops = [
  "select from",
  "select to",
  "button Show",
  "div Spending by month, a chart",
  "summary Numbers: Spending by month and category",
  "div Number of expenses by month, a chart",
  "summary Numbers: Expenses by month and category",
  "div Amounts by month, a chart",
  "summary Numbers: Smallest, average and largest expense by month",
  "input q",
  "select category",
  "button Search",
  "a Your account",
  "a Start page",
];
const accountStops = [
  "button Sign out",
  "button Sign out the session of <time> UTC, the current session",
  "button Sign out everywhere",
  "a Reports",
  "a Start page",
];

describe("the pages", function () {
  this.timeout(30_000);
  const site = testSite("looks", { hasSearch: true, repairs: false });

  const views: Readonly<Record<string, View>> = {
    start: {
      heading: "Expenses",
      stops: [
        "a /sign-in",
        "a /reports",
        "a /receipts",
        "a /whoami",
        "a /expenses",
        "a /nowhere",
        "a /health",
        "a /ready",
        "a /info",
        "a /metrics",
        "a /queue",
        "a sign in",
        "pre",
      ],
      open: async (page) => void (await page.goto("/")),
    },
    "sign-in": {
      heading: "Sign in",
      stops: [...signInStops, "a About this service"],
      open: async (page) => void (await page.goto("/sign-in")),
    },
    "sign-in-error": {
      heading: "Sign in",
      stops: signInStops,
      async open(page) {
        await page.goto("/sign-in?return_to=/whoami");
        await signInWithPassword(page, "clerk@harbour-cafe.example", "wrong");
      },
    },
    "signed-out": {
      heading: "Sign in",
      stops: [...signInStops, "a About this service"],
      open: async (page) => void (await page.goto("/sign-in?signed_out=1")),
    },
    account: {
      heading: "Your account",
      stops: accountStops,
      async open(page) {
        await page.goto("/sign-in");
        await signInWithPassword(page);
      },
    },
    reports: {
      heading: "Reports",
      stops: reportStops,
      async open(page) {
        await page.goto("/reports");
        await signInWithPassword(page);
      },
    },
    ...(hasVectorServer ? { search: receipts } : {}),
    "no-account": {
      heading: "You have no account here",
      stops: ["a Sign in as another user"],
      async open(page) {
        await page.goto("/auth/demo/start");
        await signInThere(page, "A stranger");
      },
    },
    cancelled: {
      heading: "You did not sign in",
      stops: ["a Sign in"],
      async open(page) {
        await page.goto("/auth/demo/start");
        await follow(page.getByRole("button", { name: "Cancel" }));
      },
    },
    "attempt-gone": {
      heading: "Sign-in failed",
      stops: ["a Try again"],
      open: async (page) => void (await page.goto("/auth/demo/callback?code=x&state=y")),
    },
    "foreign-form": {
      heading: "Request refused",
      stops: ["a Try again"],
      async open(page) {
        await using trap = await otherPage(site.certificate, otherHosts.foreign, (res) => {
          res.setHeader("Content-Type", "text/html");
          res.end(`<form method="post" action="${site.origin}/login"><button>Free money</button></form>`);
        });
        await page.goto(trap.url);
        await follow(page.getByRole("button"));
      },
    },
    "provider-who": {
      heading: "Choose a user",
      stops: ["input person", "button Continue", "button Cancel"],
      open: async (page) => void (await page.goto("/auth/demo/start")),
    },
    "provider-consent": {
      heading: "Share your name and e-mail address with Expenses?",
      stops: ["button Allow", "button Cancel"],
      async open(page) {
        await page.goto("/auth/demo/start");
        await sayWhoThere(page);
        await page.getByRole("heading", { name: "Share your name" }).waitFor();
      },
    },
  };

  for (const [name, { heading, stops, open }] of Object.entries(views)) {
    it(`pass axe-core, show where the focus is, and fit a small screen: ${name}`, async () => {
      const { page } = await site.visitor();
      await open(page);
      expect(await headingOf(page)).to.equal(heading);
      await takeScreenshot(page, name);
      expect(await accessibilityFaults(page)).to.deep.equal([]);
      const found = await tabThrough(page);
      expect(found.filter(({ outlined }) => !outlined)).to.deep.equal([]);
      expect(
        found.map(({ what }) =>
          what.replace(/\d{4}-\d\d-\d\d \d\d:\d\d/, "<time>").replace(/\d{4}-\d\d-\d\d/, "<date>"),
        ),
      ).to.deep.equal(stops);
      await page.setViewportSize(narrow);
      expect(await page.evaluate<number>("document.documentElement.scrollWidth")).to.be.at.most(narrow.width);
      await takeScreenshot(page, `${name}-narrow`);
    });
  }

  it("are dark and accessible if the browser prefers dark mode: a report with its numbers, and search results", async () => {
    const { page } = await site.visitor({ colorScheme: "dark" });
    await page.goto("/reports?from=2025-10&to=2026-03");
    await signInWithPassword(page, "clerk@nordic-bikes.example");
    expect(placeOf(page)).to.equal("/reports?from=2025-10&to=2026-03");
    const ground = await page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
    expect(ground).to.equal("rgb(22, 24, 28)");
    for (const summary of await page.locator("summary").all()) await summary.click();
    expect(await page.getByRole("table").count()).to.equal(3);
    expect(await accessibilityFaults(page)).to.deep.equal([]);
    await takeScreenshot(page, "reports-dark");
    // Without pgvector this process would open an embedded database, which takes seconds.
    if (!hasVectorServer) return;
    await page.getByLabel("Search terms").fill("diner at trade fairs");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "“diner" }).waitFor();
    await page.getByLabel("Category").selectOption("meals");
    await follow(page.getByRole("button", { name: "Search" }));
    expect(placeOf(page)).to.equal("/receipts?q=diner+at+trade+fairs&category=meals");
    const [first] = await page.locator(".hits li").allTextContents();
    expect(first).to.contain("Dinner after the trade fair");
    expect(await accessibilityFaults(page)).to.deep.equal([]);
    await using db = createDatabase({ url: site.databaseUrl });
    const { rowCount } = await db.query("select from svc_chunks");
    expect(rowCount, "texts of tenants, seen without a tenant").to.equal(0);
  });

  it("JOB-32 let an operator retry the dead job of an import", async () => {
    const { page } = await site.visitor();
    // This request creates the tables.
    await page.goto("/ready");
    await using db = createDatabase({ url: site.databaseUrl });
    const [tenant, id] = ["harbour-cafe", "0123456789abcdef0123456789abcdef"];
    await db.withTenant(tenant, async (tx) => {
      await beginImport(tx, id, tenant, ["category", "amount", "paid_at"]);
      await stageRows(tx, id, tenant, [{ line: 2, fields: ["meals", "7.00", "2026-03-01T12:00:00Z"] }]);
      await importQueued(tx, id, 1);
      await createJobTable({ db }).enqueue(
        { id: importJobId(id), task: importTask, payload: { import: id }, tenantId: tenant },
        { tx },
      );
      // Set the state after three failed attempts.
      await tx.query(
        "update svc_jobs set status = 'dead', attempts = 3, last_error = 'Error: the disk is full'",
      );
    });
    const found = (): Promise<Import | undefined> =>
      db.withTenant(tenant, (tx) => findImport(tx, id, "svc_jobs"));
    expect(await found()).to.include({ state: "stalled", recorded: 0 });
    await page.goto("/queue");
    await signInWithPassword(page, "operator@expenses.example");
    expect(placeOf(page)).to.equal("/queue");
    expect(await page.getByRole("row", { name: importTask }).textContent()).to.contain("the disk is full");
    expect(await accessibilityFaults(page)).to.deep.equal([]);
    await takeScreenshot(page, "queue-dead-letter");
    await follow(page.getByRole("button", { name: `Retry ${importTask}` }));
    expect(await page.getByRole("status").textContent()).to.contain("1");
    await takeScreenshot(page, "queue-retried");
    for (let tries = 0; tries < 1500 && (await found())?.state !== "done"; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(await found()).to.include({ state: "done", recorded: 1 });
  });

  it("ROLL-2 include /ready, which reports totals that differ from their expenses", async () => {
    const { page } = await site.visitor();
    await page.goto("/reports");
    await signInWithPassword(page);
    await using db = createDatabase({ url: site.databaseUrl });
    await db.withTenant("harbour-cafe", (tx) =>
      tx.query("update monthly_totals set total = total + 1 where month in ('2026-01-01', '2026-03-01')"),
    );
    const payload = { scheduled_for: new Date().toISOString() };
    await createJobTable({ db }).enqueue({ task: "rollups:verify", payload });
    await until("the verification has ended", async () => {
      await page.goto("/ready");
      return (await page.content()).includes("differ");
    });
    expect(await page.locator("pre").textContent()).to.match(
      /"rollup monthly: 2 bucket\(s\) of 1 tenant\(s\) differ from their rows; last verified \d+ s ago"/,
    );
    await takeScreenshot(page, "ready-drift");
  });

  it("work with the keyboard alone: sign-in, a wrong password, and sign-out", async () => {
    const { page } = await site.visitor();
    const { keyboard } = page;
    const next = async (heading: string): Promise<void> => {
      await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
      await page.waitForLoadState();
    };
    await page.goto("/sign-in");
    await keyboard.press("Tab");
    await keyboard.type("clerk@harbour-cafe.example");
    await keyboard.press("Tab");
    await keyboard.type("wrong");
    await keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    // The browser focuses the faulty field after it has drawn the page.
    await until("the password has the focus", () =>
      page.evaluate<boolean>("document.activeElement.id === 'password'"),
    );
    await keyboard.type("expenses-demo");
    await keyboard.press("Enter");
    await next("Your account");
    await keyboard.press("Tab");
    await keyboard.press("Enter");
    await page.getByRole("status").waitFor();
    expect(placeOf(page)).to.equal("/sign-in?signed_out=1");
  });
});

import { createDatabase } from "@svc/database";
import { testDatabase } from "@svc/dev-services";
import { expect } from "chai";
import request from "supertest";
import { tickText } from "../src/charts/frame.ts";
import { scaleFor } from "../src/charts/scale.ts";
import { serviceUrl } from "../src/database-role.ts";
import type { MonthlyReport } from "../src/reports/report.ts";
import { caller } from "./support/caller.ts";
import { record } from "./support/expenses.ts";
import { header, sendFile, untilImport } from "./support/files.ts";
import { untilIdle } from "./support/idle.ts";
import { runService, type RunningService } from "./support/running-service.ts";
import { browse } from "./support/sign-in.ts";

describe("monthly reports", function () {
  this.timeout(30_000);
  const database = testDatabase({ name: "reports" });
  let databaseUrl = "";
  let running: RunningService;

  before("the service", async () => {
    databaseUrl = await serviceUrl(database.url);
    running = await runService(databaseUrl, { seed: true, demoUsers: true, imports: { stepRows: 7 } });
  });
  after(() => running[Symbol.asyncDispose]());

  async function report(tenant: string, query = "", service = running): Promise<MonthlyReport> {
    const { status, body } = await caller(service.url, tenant).get(`/reports/monthly${query}`);
    expect(status, JSON.stringify(body)).to.equal(200);
    return body as MonthlyReport;
  }

  it("ROLL-1 have six exact statistics for every month and category, and five for a month", async () => {
    const tenant = "figures";
    expect((await report(tenant)).months).to.deep.equal([]);
    for (const amount of ["0.10", "0.20", "0.31", "9999999999.99"]) {
      await record(running.url, { tenant, amount, paid_at: "2026-03-01T00:00:00Z" });
    }
    await record(running.url, {
      tenant,
      category: "travel",
      amount: "7.00",
      paid_at: "2026-03-31T23:59:59.999Z",
    });
    await record(running.url, { tenant, amount: "3.00", paid_at: "2026-05-01T00:00:00Z" });
    const march = { month: "2026-03", expenses: 4, total: "10000000000.60", average: "2500000000.15" };
    expect(await report(tenant)).to.deep.equal({
      from: "2025-06",
      to: "2026-05",
      time_zone: "UTC",
      by: "category",
      months: [
        { ...march, category: "meals", minimum: "0.10", maximum: "9999999999.99", median: "0.20" },
        figures("2026-03", "7.00", { category: "travel", median: "7.00" }),
        figures("2026-05", "3.00", { category: "meals", median: "3.00" }),
      ],
    });
    const { months } = await report(tenant, "?by=month&from=2026-03&to=2026-04");
    const both = { expenses: 5, total: "10000000007.60", average: "2000000001.52" };
    expect(months).to.deep.equal([{ month: "2026-03", ...both, minimum: "0.10", maximum: "9999999999.99" }]);
  });

  it("cover twelve months if `from`, `to` or both are missing", async () => {
    const range = async (query: string): Promise<string> => {
      const { from, to } = await report("harbour-cafe", query);
      return `${from} ${to}`;
    };
    expect(await range("")).to.equal("2025-07 2026-06");
    expect(await range("?from=2024-11")).to.equal("2024-11 2025-10");
    expect(await range("?to=2026-01")).to.equal("2025-02 2026-01");
    // The returned range must be a valid filter.
    expect(await range("?from=2199-12")).to.equal("2199-12 2199-12");
    expect(await range("?to=1900-03")).to.equal("1900-01 1900-03");
  });

  it("show a tenant its own statistics, and return 401 without a token and 403 without the read scope", async () => {
    const [cafe, bikes] = [await report("harbour-cafe"), await report("nordic-bikes")];
    expect(cafe.months).not.to.deep.equal(bikes.months);
    for (const { months } of [cafe, bikes]) {
      expect(months.reduce((sum, { expenses }) => sum + expenses, 0)).to.equal(120);
    }
    expect((await request(running.url).get("/reports/monthly")).status).to.equal(401);
    const { status } = await caller(running.url, "harbour-cafe", { scope: "expenses:write" }).get(
      "/reports/monthly",
    );
    expect(status).to.equal(403);
  });

  it("ROLL-3 include all ten expenses that are recorded concurrently", async () => {
    const tenant = "at-once";
    await Promise.all(Array.from({ length: 10 }, () => record(running.url, { tenant, amount: "1.10" })));
    expect((await report(tenant)).months).to.deep.equal([
      { month: "2026-03", category: "meals", expenses: 10, ...same("1.10"), total: "11.00", median: "1.10" },
    ]);
  });

  it("ROLL-2 include a file's expenses after one job per month", async () => {
    const tenant = "files";
    const rows = Array.from({ length: 40 }, (_, n) => `office,2.00,2026-0${1 + (n % 2)}-15T12:00:00Z,row\n`);
    const place = await sendFile(running.url, `${header}\n${rows.join("")}`, tenant);
    await untilImport(running.url, place, undefined, tenant);
    await untilIdle(running);
    const { months } = await report(tenant);
    expect(months.map(({ month, expenses, total }) => `${month} ${expenses} ${total}`)).to.deep.equal([
      "2026-01 20 40.00",
      "2026-02 20 40.00",
    ]);
  });

  it("respond to an invalid filter with a 422 problem that names it", async () => {
    const wrong: readonly (readonly [string, readonly string[]])[] = [
      ["from=march", ["from"]],
      ["from=2026-13&to=2026-00", ["from", "to"]],
      ["from=2026-03-01", ["from"]],
      ["from=2026-03&to=2026-02", ["to"]],
      ["from=2000-01&to=2026-02", ["to"]],
      ["by=tenant", ["by"]],
      ["by=__proto__", ["by"]],
      ["by=category&by=month", ["by"]],
      ["tenant=acme", ["tenant"]],
      ["from=%00", ["from"]],
    ];
    for (const [query, names] of wrong) {
      const { status, type, body } = await caller(running.url).get(`/reports/monthly?${query}`);
      expect({ query, status, type }).to.deep.equal({ query, status: 422, type: "application/problem+json" });
      const { errors } = body as { errors: { loc: string[] }[] };
      expect(errors.map(({ loc }) => loc)).to.deep.equal(names.map((name) => ["query", name]));
    }
  });

  it("are repaired by the daily verification after expenses were changed by hand", async () => {
    const tenant = "behind";
    await record(running.url, { tenant, amount: "5.00" });
    await using db = createDatabase({ url: databaseUrl });
    await db.withTenant(tenant, (tx) => tx.query("update expenses set amount = 6, category = 'office'"));
    expect((await report(tenant)).months[0]).to.include({ category: "meals", total: "5.00" });
    const payload = { scheduled_for: new Date().toISOString() };
    await running.service.jobs?.enqueue({ task: "rollups:verify", payload });
    await untilIdle(running);
    expect((await report(tenant)).months).to.deep.equal([
      figures("2026-03", "6.00", { category: "office", median: "6.00" }),
    ]);
    const [warning = ""] = running.log.filter((line) => line.includes("totals differ from their rows"));
    expect(JSON.parse(warning)).to.include({ level: "warn", rollup: "monthly", buckets: 1, repaired: 1 });
  });

  describe("the page of reports", () => {
    it("shows three charts, each with a title, a description and a table of its numbers", async () => {
      const { cookie } = await browse(running.url, "clerk@harbour-cafe.example");
      const { status, headers, text } = await request(running.url).get("/reports").set({ cookie });
      expect(status).to.equal(200);
      expect(headers["cache-control"]).to.equal("no-store");
      expect(headers["content-security-policy"]).to.contain("default-src 'self'");
      const charts = [...text.matchAll(/<svg class="chart"[^]*?<\/svg>/g)].map(([chart]) => chart);
      expect(charts).to.have.length(3);
      for (const chart of charts) {
        const [, title = "", description = ""] = /aria-labelledby="(\S+) (\S+)"/.exec(chart) ?? [];
        expect(chart).to.contain(`<title id="${title}">`).and.to.contain(`<desc id="${description}">`);
      }
      expect(text.match(/<caption>/g)).to.have.length(3);
      expect(text).not.to.match(/<script|NaN|undefined|Infinity/);
      const { months } = await report("harbour-cafe", "?by=month&from=2025-12&to=2025-12");
      expect(text).to.contain(`The number was highest in December 2025: 15.`);
      expect(text.replaceAll(",", "")).to.contain(`<td>${months[0]?.total}</td>`);
    });

    it("reports invalid months, and shows the latest twelve instead", async () => {
      const { cookie } = await browse(running.url, "clerk@harbour-cafe.example");
      for (const query of ["from=2026-03&to=2026-01", "from=%3Cscript%3E", "month=1"]) {
        const { status, text } = await request(running.url).get(`/reports?${query}`).set({ cookie });
        expect({ query, status }).to.deep.equal({ query, status: 422 });
        expect(text).to.contain('role="alert"').and.to.contain("July 2025 to June 2026");
        expect(text).not.to.contain("<script");
      }
      const empty = await request(running.url).get("/reports?from=1999-01&to=1999-03").set({ cookie });
      expect(empty.status).to.equal(200);
      expect(empty.text).to.contain("There are no expenses in these months.");
      // The form shows the months of the page even if they are far from all expenses.
      for (const month of ["1999-01", "1999-03", "2025-07"])
        expect(empty.text).to.contain(`value="${month}"`);
      expect(empty.text.match(/<option value="[\d-]+" selected>/g)).to.deep.equal([
        '<option value="1999-01" selected>',
        '<option value="1999-03" selected>',
      ]);
    });

    it("redirects visitors to the sign-in page, and returns 403 to a user without the read scope", async () => {
      for (const path of ["/reports", "/receipts"]) {
        const away = await request(running.url).get(path).set({ Accept: "text/html" });
        expect([away.status, away.headers["location"]]).to.deep.equal([
          303,
          `/sign-in?return_to=${encodeURIComponent(path)}`,
        ]);
        const { cookie } = await browse(running.url, "operator@expenses.example");
        const { status, text } = await request(running.url).get(path).set({ cookie, Accept: "text/html" });
        expect(status).to.equal(403);
        expect(text).to.contain("No access");
      }
    });

    it("has axes that end at round numbers, or at whole numbers for counts", () => {
      const axes = [0, 0.3, 1, 7, 9.99, 1890.59, 12_345].map((largest) => scaleFor(largest).ticks.join(" "));
      expect(axes).to.deep.equal([
        "0 1",
        "0 0.1 0.2 0.3",
        "0 0.25 0.5 0.75 1",
        "0 2 4 6 8",
        "0 2.5 5 7.5 10",
        "0 500 1000 1500 2000",
        "0 5000 10000 15000",
      ]);
      expect([1, 3, 10, 25].map((largest) => scaleFor(largest, true).ticks.join(" "))).to.deep.equal([
        "0 1",
        "0 1 2 3",
        "0 5 10",
        "0 10 20 30",
      ]);
      expect(scaleFor(0.01).ticks.join(" ")).to.equal("0 0.01");
    });

    it("shortens large numbers to fit next to the axes", () => {
      const largest = 9_999_999_999.99 * 1000;
      for (let most = 0.01; most < largest; most *= 7) {
        for (const tick of scaleFor(most).ticks)
          expect(tickText(tick).length, tickText(tick)).to.be.at.most(7);
      }
      expect([0.25, 1500, 250_000, 2_500_000, 1e10].map(tickText).join(" ")).to.equal(
        "0.25 1,500 250,000 2.5M 10B",
      );
    });
  });

  describe("after an upgrade or a change of the time zone", () => {
    it("ROLL-4 ROLL-5 are recomputed from the existing expenses", async () => {
      const tenant = "zones";
      await record(running.url, { tenant, amount: "4.00", paid_at: "2026-02-28T23:30:00Z" });
      // This must be the last test, because it stops the shared service.
      await running[Symbol.asyncDispose]();
      await using db = createDatabase({ url: databaseUrl });
      await db.query("drop table monthly_totals, expense_tenants");
      const start = async (timeZone?: string): Promise<void> => {
        await using service = await runService(databaseUrl, { timeZone });
        const month = timeZone === undefined ? "2026-02" : "2026-03";
        const expected = [figures(month, "4.00", { category: "meals", median: "4.00" })];
        expect((await report(tenant, "", service)).months).to.deep.equal(expected);
        await record(service.url, { tenant, amount: "4.00", paid_at: "2026-06-30T22:00:00Z" });
        const { months, time_zone: zone } = await report(tenant, "?by=month", service);
        expect(zone).to.equal(timeZone ?? "UTC");
        expect(months.at(-1)?.month).to.equal(timeZone === undefined ? "2026-06" : "2026-07");
        await db.withTenant(tenant, (tx) => tx.query("delete from expenses where paid_at > '2026-06-01'"));
        await service.service.jobs?.enqueue({
          task: "rollup.refresh.monthly_totals",
          tenantId: tenant,
          payload: { tenant, at: "2026-06-30T22:00:00Z" },
        });
        await untilIdle(service);
        expect((await report(tenant, "", service)).months).to.deep.equal(expected);
      };
      await start();
      await start("Europe/Berlin");
      const { rows } = await db.query("select tenant from expense_tenants where tenant = $1", [tenant]);
      expect(rows).to.have.length(1);
      // Row security is on again, for the owner of the tables too.
      expect((await db.query("select from expenses")).rowCount).to.equal(0);
      expect((await db.query("select from monthly_totals")).rowCount).to.equal(0);
    });
  });
});

/** Returns the figures of a single expense. */
function figures(month: string, amount: string, more: object): object {
  return { month, expenses: 1, ...same(amount), ...more };
}

function same(amount: string): object {
  return { total: amount, average: amount, minimum: amount, maximum: amount };
}

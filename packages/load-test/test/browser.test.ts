import { mkdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { testProgram } from "@svc/dev-services";
import { htmlReport } from "@svc/load-test";
import { expect } from "chai";
import { type Browser, chromium } from "playwright-core";
import { loadReport, stepReport } from "./support/reports.ts";

const screenshots = fileURLToPath(new URL("../../../artifacts/screenshots/", import.meta.url));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const latency = (p50: number, p95: number, p99: number, max: number) => ({ p50, p95, p99, max });
const report = loadReport({
  routes: ["GET /expenses", "GET /expenses/{id}", "GET /totals"],
  skipped: [{ route: "GET /receipts/{id}", reason: "path parameter id has no example, default or enum" }],
  steps: [
    stepReport({ clients: 1, requestsPerSecond: 1840, latencyUs: latency(520, 610, 1240, 9000) }),
    stepReport({ clients: 4, requestsPerSecond: 4630, latencyUs: latency(790, 1350, 2900, 31_000) }),
    stepReport({ clients: 16, requestsPerSecond: 5240, latencyUs: latency(2900, 4600, 8800, 64_000) }),
    stepReport({
      clients: 64,
      requestsPerSecond: 5110,
      latencyUs: latency(11_800, 31_000, 612_000, 2_210_000),
      errors: { ...stepReport().errors, serverErrors: 412, timeout: 3 },
      statuses: { 200: 50_700, 503: 412 },
      others: 412,
      generatorCpu: 83,
      readiness: {
        failure: null,
        notOk: [{ name: "cache", detail: "the cache does not answer", isCritical: false }],
      },
      broken: ["p99 of 612.0 ms is over 500 ms"],
    }),
  ],
  saturatedAt: 16,
  brokeAt: 64,
});

describe("the HTML report in Chromium", function () {
  this.timeout(60_000);
  const program = testProgram("chromium");
  let browser: Browser | undefined;
  let folder: string | undefined;

  before("a browser", async () => {
    // Chromium cannot create its sandbox as root.
    const chromiumSandbox = process.getuid?.() !== 0;
    browser = await chromium.launch({ executablePath: program.path, chromiumSandbox });
    folder = await mkdtemp(join(tmpdir(), "load-report-"));
  });

  after("close the browser", async () => {
    await browser?.close();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  for (const colorScheme of ["light", "dark"] as const) {
    it(`is readable from a file without network and script (${colorScheme}); axe-core finds no fault`, async () => {
      const file = join(folder ?? "", "report.html");
      await writeFile(file, htmlReport(report));
      const page = await browser?.newPage({
        colorScheme,
        offline: true,
        viewport: { width: 1000, height: 800 },
      });
      if (page === undefined) throw new Error("there is no browser");
      const complaints: string[] = [];
      const requests: string[] = [];
      page.on("console", (message) => complaints.push(message.text()));
      page.on("request", (request) => requests.push(request.url()));
      await page.goto(pathToFileURL(file).href);
      expect(await page.title()).to.equal("Load test of http://localhost:8000");
      expect(await page.locator("svg polyline").count()).to.equal(4);
      expect(
        await page.getByRole("img", { name: /Throughput by number of clients.*64 clients: 5,110/ }).count(),
      ).to.equal(1);
      expect(await page.locator("tbody tr").count()).to.equal(4);
      if (colorScheme === "light") {
        mkdirSync(screenshots, { recursive: true });
        await page.screenshot({ path: `${screenshots}load-report.png`, fullPage: true });
      }
      // Evaluate axe-core, because the page's policy forbids script elements.
      await page.evaluate(axe);
      const faults = await page.evaluate<string[]>(
        `axe.run(document).then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ": " + html)))`,
      );
      expect(faults).to.deep.equal([]);
      expect(complaints).to.deep.equal([]);
      expect(requests).to.deep.equal([pathToFileURL(file).href]);
      await page.close();
    });
  }
});

import { testProgram } from "@svc/dev-services";
import { until } from "@svc/test-support";
import { expect } from "chai";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import type { OpenApiDocument } from "../src/page/document-shape.ts";
import { accessibilityFaults, takeScreenshot } from "./support/page-browser.ts";
import { expenses } from "./support/page-document.ts";
import { servePage } from "./support/page-server.ts";

describe("the page in Chromium", function () {
  this.timeout(60_000);
  const program = testProgram("chromium");
  let browser: Browser | undefined;
  const complaints: string[] = [];
  let expected: RegExp | undefined;

  before("a browser", async () => {
    // Chromium cannot create its sandbox as root.
    browser = await chromium.launch({
      executablePath: program.path,
      chromiumSandbox: process.getuid?.() !== 0,
    });
  });

  afterEach("no complaint of the browser, and no open page", async () => {
    await Promise.all(browser?.contexts().map((context) => context.close()) ?? []);
    expect(complaints.splice(0).filter((each) => expected?.test(each) !== true)).to.eql([]);
    expected = undefined;
  });

  /** Waits for a browser error that the test expects; more errors of its kind may follow. */
  async function complaint(pattern: RegExp): Promise<void> {
    expected = pattern;
    await until("a complaint of the browser", () => complaints.some((each) => pattern.test(each)));
  }

  after("close the browser", async () => {
    await browser?.close();
  });

  async function open(url: string, options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser?.newContext(options);
    context?.setDefaultTimeout(15_000);
    const page = await context?.newPage();
    if (page === undefined) throw new Error("there is no browser");
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(error.message));
    await page.goto(url);
    return page;
  }

  it("DOC-3 sends a request with the token and shows the response; axe-core finds no fault", async () => {
    await using server = await servePage(expenses, (_req, res) => {
      res.writeHead(201, { "Content-Type": "application/json", Location: "/expenses/7" });
      res.end('{"id":12345678901234567890,"note":"<b>a, \\"b\\"</b>","tags":[],"split":[{"x":null}]}');
    });
    const page = await open(`${server.url}/docs`);
    await page.getByLabel("Bearer token").fill("t0ken");
    const operation = page.locator('[id="post/expenses"]');
    await operation.locator("summary").first().click();
    const body = operation.getByLabel("Body");
    await body.waitFor();
    expect(await operation.locator(".curl").textContent()).to.contain(`curl '${server.url}/expenses'`);
    expect(JSON.parse(await body.inputValue())).to.include({ amount: 12.5, category: "meals" });
    await body.fill('{"amount": 7}');
    await operation.getByRole("button", { name: "Send" }).click();
    await operation.getByText(/^201 Created in \d+ ms$/).waitFor();
    const [request] = server.received;
    expect(request).to.include({ line: "POST /expenses", body: '{"amount": 7}' });
    expect(request?.headers).to.include({
      authorization: "Bearer t0ken",
      "content-type": "application/json",
    });
    const [headers, answer] = await operation.locator("form pre").allTextContents();
    expect(headers).to.contain("location: /expenses/7");
    // Formatting changes only white space: the large number and the text keep their characters.
    expect(answer).to.equal(
      [
        "{",
        '  "id": 12345678901234567890,',
        '  "note": "<b>a, \\"b\\"</b>",',
        '  "tags": [],',
        '  "split": [',
        "    {",
        '      "x": null',
        "    }",
        "  ]",
        "}",
      ].join("\n"),
    );
    await takeScreenshot(page, "docs");
    expect(await accessibilityFaults(page)).to.eql([]);
    expect(page.url()).to.equal(`${server.url}/docs`);
    expect(
      await page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])"),
    ).to.equal('[{},{},""]');
    await page.reload();
    expect(await page.getByLabel("Bearer token").inputValue()).to.equal("");
  });

  it("DOC-3 fills path, query and header parameters", async () => {
    const document = {
      paths: {
        "/a/{id}/{part}": {
          get: {
            parameters: [
              { name: "id", in: "path", schema: { type: "string" } },
              { name: "part", in: "path", schema: { type: "string" }, example: "all" },
              { name: "tag", in: "query", schema: { type: "array" } },
              { name: "set", in: "query", explode: false, schema: { type: "array" } },
              { name: "empty", in: "query" },
              { name: "X-Trace", in: "header", required: true, example: "abc" },
              { name: "session", in: "cookie", required: true },
            ],
          },
        },
      },
    };
    await using server = await servePage(document, (_req, res) => res.end("plain"));
    const page = await open(`${server.url}/docs#get/a/{id}/{part}`);
    expect(await page.getByLabel("session").count()).to.equal(0);
    await page.getByLabel("id path").fill("../{part}?x=$&");
    await page.getByLabel("tag query").fill("one\ntwo, three\n");
    await page.getByLabel("set query").fill("1\n2");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText(/^200 OK in/).waitFor();
    const [request] = server.received;
    expect(request?.line).to.equal(
      "GET /a/..%2F%7Bpart%7D%3Fx%3D%24%26/all?tag=one&tag=two%2C+three&set=1%2C2",
    );
    expect(request?.headers).to.include({ "x-trace": "abc" }).and.not.to.have.property("authorization");
    expect(await page.locator("form pre").last().textContent()).to.equal("plain");
    await page.getByLabel("id path").fill("");
    await page.getByRole("button", { name: "Send" }).click();
    expect(await page.locator("input:invalid").count()).to.equal(1);
    expect(server.received).to.have.length(1);
  });

  it("DOC-3 never sends a request to another origin, neither for a path of the document nor for a redirect", async () => {
    await using other = await servePage({}, (_req, res) => res.end("never read"));
    const document = {
      paths: {
        [`@127.0.0.1:${other.port}/x`]: { get: {} },
        "//elsewhere.example/": { get: {} },
        "/to": { get: {} },
      },
    };
    await using server = await servePage(document, (req, res) => {
      if (req.url === "/to") res.writeHead(302, { Location: `${other.url}/x` });
      res.end("here");
    });
    const page = await open(`${server.url}/docs`);
    await page.getByLabel("Bearer token").fill("t0ken");
    for (const path of Object.keys(document.paths)) {
      const operation = page.locator(`details[data-path="${path}"]`);
      await operation.locator("summary").first().click();
      await operation.getByRole("button", { name: "Send" }).click();
      await operation.getByText(path === "/to" ? /^No answer: / : /^200 OK in/).waitFor();
    }
    expect(server.received.map(({ line }) => line)).to.have.members([
      `GET /@127.0.0.1:${other.port}/x`,
      "GET //elsewhere.example/",
      "GET /to",
    ]);
    expect(other.received).to.eql([]);
    // The browser reports the redirect that the page refuses.
    await complaint(new RegExp(`${other.url}/x|Failed to load`));
  });

  it("DOC-3 shows a response while it arrives, and closes the connection after a click on Cancel", async () => {
    let ended = false;
    await using server = await servePage({ paths: { "/events": { get: {} } } }, (_req, res) => {
      res.writeHead(200, { "Content-Type": "text/event-stream" });
      res.write("data: first\n\n");
      res.on("close", () => (ended = true));
    });
    const page = await open(`${server.url}/docs#get/events`);
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("data: first").waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByText("Cancelled").waitFor();
    await until("the server sees the end", () => ended);
    expect(await page.evaluate("document.activeElement.textContent")).to.equal("Send");
    expect(await page.getByRole("button", { name: "Cancel" }).count()).to.equal(0);
  });

  it("shows the first 200,000 characters of a long response, and the error of a request without a response", async () => {
    let isGone = false;
    await using server = await servePage({ paths: { "/long": { get: {} } } }, (_req, res) => {
      if (isGone) res.destroy();
      else res.end("x".repeat(300_000));
    });
    const page = await open(`${server.url}/docs#get/long`);
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("the rest is not shown").waitFor();
    const shown = await page.locator("form pre").last().textContent();
    expect(shown).to.have.length(200_000 + "\n… the rest is not shown".length);
    isGone = true;
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("No answer: ").waitFor();
    await complaint(/^Failed to load resource: /);
  });

  it("DOC-3 shows only the operations that contain all words of the filter", async () => {
    await using server = await servePage(expenses, (_req, res) => res.end());
    const page = await open(`${server.url}/docs`);
    await page.getByLabel("Filter").fill("expenses POST");
    await page.getByText("1 of 4 operations").waitFor();
    expect(await page.locator("section:visible h2").allTextContents()).to.eql([
      "Expenses",
      "Routes without a path",
    ]);
    expect(await page.locator("h3:visible").allTextContents()).to.eql(["POST /expenses Record an expense"]);
    await page.keyboard.press("Enter");
    expect(page.url()).to.equal(`${server.url}/docs`);
    await page.getByLabel("Filter").fill("");
    await page.getByText("4 of 4 operations").waitFor();
  });

  it("copies the curl line of an operation", async () => {
    await using server = await servePage(expenses, (_req, res) => res.end());
    const page = await open(`${server.url}/docs#get/health`, {
      permissions: ["clipboard-read", "clipboard-write"],
    });
    await page.getByRole("button", { name: "Copy" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).to.equal(`curl '${server.url}/health'`);
  });

  it("DOC-3 is readable and accessible without scripts, on a small screen and in dark mode", async () => {
    await using server = await servePage(withLongTexts(), (_req, res) => res.end());
    for (const colorScheme of ["light", "dark"] as const) {
      const viewport = { width: 320, height: 640 };
      const page = await open(`${server.url}/docs`, { javaScriptEnabled: false, colorScheme, viewport });
      await page.getByText("Record an expense").click();
      await page.getByText("A second one with the same id is refused.").waitFor();
      expect(await page.getByRole("button").count()).to.equal(0);
    }
    for (const colorScheme of ["light", "dark"] as const) {
      const page = await open(`${server.url}/docs`, { colorScheme, viewport: { width: 320, height: 640 } });
      for (const summary of await page.locator("section > details > summary").all()) await summary.click();
      await page.locator("dd summary").click();
      for (const send of await page.getByRole("button", { name: "Send" }).all()) await send.click();
      await until("all answers", async () => (await page.getByText(/^200 OK in/).count()) === 5);
      expect(await accessibilityFaults(page)).to.eql([]);
      expect(await page.evaluate("document.documentElement.scrollWidth")).to.equal(320);
      if (colorScheme === "dark") expect(await stopsWithoutOutline(page)).to.eql([]);
    }
  });

  /** Moves the focus through the page with the Tab key, and returns the elements that show no focus. */
  async function stopsWithoutOutline(page: Page): Promise<readonly string[]> {
    await page.evaluate("document.activeElement.blur()");
    const stops: { readonly outline: string; readonly html: string }[] = [];
    for (let presses = 0; presses < 100; presses++) {
      await page.keyboard.press("Tab");
      const stop = await page.evaluate<(typeof stops)[number]>(
        "({ outline: getComputedStyle(document.activeElement).outlineStyle, html: document.activeElement.outerHTML })",
      );
      if (stop.html.startsWith("<body")) break;
      stops.push(stop);
    }
    return stops.filter(({ outline }) => outline !== "solid").map(({ html }) => html);
  }

  /** Returns the document with an operation whose strings allow no line break. */
  function withLongTexts(): OpenApiDocument {
    const long = "long".repeat(100);
    const operation = {
      summary: long,
      description: long,
      "x-roles": [long],
      parameters: [{ name: long, in: "query", required: true, description: long, example: long }],
      responses: { 200: { description: long, content: { [long]: { schema: { const: long } } } } },
    };
    return { ...expenses, paths: { ...expenses.paths, [`/${long}`]: { get: operation } } };
  }
});

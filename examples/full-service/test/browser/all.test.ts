import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePorts, needsPostgres } from "@svc/dev-services";
import { openOtlpReceiver, newCanaries, placesOf, type ReceivedSpan, treeOf } from "@svc/test-support/otlp";
import { expect } from "chai";
import type { Page } from "playwright-core";
import { demoPassword } from "../../src/demo-users.ts";
import { blocks, demoProcess, isListening, temporaryCheckout } from "../support/demo-process.ts";
import { testBrowser } from "./support/browser.ts";
import { accessibilityFaults, takeScreenshot } from "./support/looks.ts";
import { follow, headingOf, keptCookies, signInWithPassword } from "./support/steps.ts";

const script = fileURLToPath(new URL("../support/start-all.ts", import.meta.url));

/** The request that the page's own script sends. */
interface Sent {
  readonly path: string;
  readonly method?: string;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Sends a request from the open page, with its cookies. */
function send(page: Page, { path, method = "GET", type, headers = {}, body }: Sent): Promise<Answer> {
  const all = { ...headers, ...(type && { "Content-Type": type }) };
  return page.evaluate<Answer>(`fetch(${JSON.stringify(path)}, ${JSON.stringify({ method, headers: all, body })})
    .then(async (response) => ({ status: response.status, body: await response.json() }))`);
}

/** Waits until an expense has its receipt, and returns the receipt. */
async function receiptOf(page: Page, expense: string): Promise<Answer> {
  const credentials = { email: "clerk@harbour-cafe.example", password: demoPassword };
  const json = { type: "application/json", body: JSON.stringify(credentials) };
  const { body } = await send(page, { path: "/login", method: "POST", ...json });
  const headers = { Authorization: `Bearer ${String(body["access_token"])}` };
  for (;;) {
    const answer = await send(page, { path: `/receipts-service/receipts/${expense}`, headers });
    if (answer.status !== 404) return answer;
    await sleep(50);
  }
}

/** Returns the spans below the only span with a name. */
function below(trace: readonly ReceivedSpan[], name: string): readonly string[] {
  const spans = trace.filter((span) => span.name === name);
  expect(spans, name).to.have.length(1);
  return treeOf(trace, spans[0]?.spanId);
}

describe("the example with its gateway and its receipts service, in a browser", function () {
  this.timeout(120_000);
  needsPostgres();
  const browser = testBrowser();

  it("PORT-1 TRACE-9 TRACE-10 creates one trace from the gateway to the receipts service, and writes no secret", async () => {
    await using receiver = await openOtlpReceiver();
    using checkout = temporaryCheckout();
    const port = await freePorts(blocks);
    const canaries = newCanaries();
    const endpoint = new URL(receiver.url);
    endpoint.username = canaries.endpointUser;
    endpoint.password = canaries.endpointPassword;
    const env = {
      SVC_PORT: String(port),
      SVC_AUTH_SECRET: canaries.jobError.repeat(2),
      SVC_TELEMETRY_ENDPOINT: endpoint.href,
      SVC_TELEMETRY_HEADERS: JSON.stringify({ "X-Api-Key": canaries.exportHeader }),
    };
    await using all = demoProcess(checkout, env, script, "SIGTERM");
    const url = await all.opened;
    expect(url).to.equal(`http://localhost:${port}`);
    const { page, context } = await browser.visitor({ baseURL: url });

    await page.goto("/");
    expect(await accessibilityFaults(page)).to.deep.equal([]);
    await takeScreenshot(page, "gateway-start");
    await follow(page.getByRole("link", { name: "/sign-in" }));
    expect(await accessibilityFaults(page)).to.deep.equal([]);
    await takeScreenshot(page, "gateway-sign-in");
    await signInWithPassword(page, "admin@harbour-cafe.example", canaries.formBody);
    await signInWithPassword(page, "admin@harbour-cafe.example");
    expect(await headingOf(page)).to.equal("Your account");
    await context.addCookies([{ name: "other", value: canaries.cookie, url }]);

    const json = { type: "application/json", path: "/expenses", method: "POST" };
    const expense = { category: "meals", amount: "12.50", paid_at: "2026-03-01T12:00:00Z" };
    const answers = [
      await send(page, { ...json, body: JSON.stringify({ ...expense, note: canaries.sqlParameter }) }),
      await send(page, { ...json, body: JSON.stringify({ ...expense, [canaries.jsonBody]: 1 }) }),
      await send(page, { ...json, body: `{"note": ${canaries.malformedBody}` }),
      await send(page, { path: `/expenses/${canaries.matchedParameter}` }),
      await send(page, { path: `/receipts-service/${canaries.unmatchedPath}` }),
      await send(page, { path: `/expenses?month=${canaries.query}` }),
      await send(page, { path: `/search?q=${canaries.searchText}&limit=0` }),
      await send(page, { path: "/whoami", headers: { "X-Note": canaries.requestHeader } }),
      await send(page, { path: "/whoami", headers: { Authorization: `Bearer ${canaries.opaqueToken}` } }),
      await send(page, { path: "/expenses", headers: { "X-Tenant-ID": canaries.claimedTenant } }),
    ];
    expect(answers.map(({ status }) => status).join(" ")).to.equal("201 422 400 404 404 422 422 200 200 200");
    // The receipts service creates its table at its first request.
    const id = String(answers[0]?.body["id"]);
    expect((await receiptOf(page, id)).body).to.include({ number: 1, amount: "12.50" });

    const csv = `category,amount,paid_at,note\nmeals,8.00,2026-03-01T12:00:00Z,${canaries.jobPayload}\n`;
    const imported = { path: "/expenses/import", method: "POST", type: "text/csv", body: csv };
    expect((await send(page, imported)).status).to.equal(202);
    const kept = [...(await keptCookies(context)).values()].filter(({ name }) => name !== "other");
    expect(kept.map(({ name }) => name)).to.have.members(["session", "refresh"]);
    const pages: Record<string, string> = {};
    for (const service of [port, port + 10, port + 20]) {
      for (const path of ["/ready", "/metrics", "/info"]) {
        pages[`${service - port}${path}`] = await (await fetch(`http://127.0.0.1:${service}${path}`)).text();
      }
    }
    all.interrupt();
    const { code, stdout, stderr } = await all.ended;
    expect({ code, url }).to.deep.equal({ code: 0, url });
    for (const offset of [0, 10, 11, 20])
      expect(await isListening(port + offset), String(offset)).to.equal(false);

    // A job that is running when its service stops is completed first.
    const { spans } = receiver;
    expect(new Set(spans.map(({ spanId }) => spanId))).to.have.property("size", spans.length);
    const upload = spans.find(({ name }) => name === "POST /expenses/import");
    const trace = spans.filter(({ traceId }) => traceId === upload?.traceId);
    expect(new Set(trace.map(({ resource }) => resource["service.name"]))).to.deep.equal(
      new Set(["gateway", "expenses", "receipts"]),
    );
    expect(treeOf(trace, undefined).slice(0, 3)).to.deep.equal([
      "server POST /expenses/*",
      "  client gateway /expenses",
      "    server POST /expenses/import",
    ]);
    expect(below(trace, "POST /expenses/import")).to.include("consumer job expenses.import");
    expect(below(trace, "job expenses.import")).to.include.members([
      "client BEGIN",
      "client COMMIT",
      "consumer job expense.recorded->receipt",
      "consumer job expense.recorded->activity",
      "consumer job rollup.refresh.monthly_totals",
    ]);
    expect(below(trace, "job expense.recorded->receipt")).to.deep.equal([
      "consumer event expense.recorded",
      "  client SET",
      "  client PUT receipts",
      "    server PUT /receipts/:expense",
      "      client BEGIN",
      "      client SELECT",
      "      client INSERT",
      "      client COMMIT",
    ]);
    const roots = trace.filter(({ parentSpanId }) => parentSpanId === undefined);
    expect(roots.map(({ name }) => name)).to.deep.equal(["POST /expenses/*"]);

    const secrets = {
      ...canaries,
      password: demoPassword,
      session: kept[0]?.value ?? "",
      refresh: kept[1]?.value ?? "",
    };
    const lines = stdout.trim().split("\n");
    expect(placesOf(secrets, { bodies: receiver.bodies, lines, pages })).to.deep.equal({
      // LOG-3
      matchedParameter: ["request: http_path"],
      unmatchedPath: ["request: http_path"],
      // TEN-20
      claimedTenant: ["request: tenant_claimed"],
    });
    expect(stderr).not.to.contain("canary");
  });
});

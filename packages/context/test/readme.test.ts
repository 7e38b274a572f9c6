import { runSample } from "@svc/test-support";
import { expect } from "chai";

const readme = new URL("../README.md", import.meta.url);

/** Sends a request to a sample and waits until it has printed a line. */
async function linePrinted(index: number, path: string): Promise<string> {
  await using sample = await runSample(readme, index);
  await (await fetch((await sample.url) + path)).text();
  while (!sample.stdout().includes("\n")) await new Promise((resolve) => setTimeout(resolve, 5));
  return sample.stdout();
}

describe("the samples in the README of @svc/context", () => {
  it("read the tenant in a function that does not receive the request", async () => {
    await using sample = await runSample(readme, 0);
    const answer = await fetch(await sample.url);
    expect(await answer.json()).to.eql({ tenant: "acme" });
  });

  it("report the end of a response", async () => {
    expect(await linePrinted(1, "/")).to.equal("r-1 200 sent\n");
  });

  it("start a span of OpenTelemetry", async () => {
    const sdk = `
      const { context, trace } = require("@opentelemetry/api");
      const { AsyncLocalStorageContextManager } = require("@opentelemetry/context-async-hooks");
      const { TracerProvider } = require("@opentelemetry/sdk-trace");
      const onEnd = ({ name, attributes }) => console.log(name, JSON.stringify(attributes));
      const printer = { onStart() {}, onEnd, forceFlush: async () => {}, shutdown: async () => {} };
      trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [printer] }));
      context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    `;
    await using sample = await runSample(readme, 2, {
      env: { NODE_OPTIONS: "--require ./sdk.cjs" },
      files: { "sdk.cjs": sdk },
    });
    const { stdout, stderr } = await sample.ended;
    expect(stderr).to.equal("");
    expect(stdout).to.equal('orders.import {"orders.source":"file","orders.count":2}\n');
  });

  it("AUTH-34 reject a request from a page with another origin", async () => {
    await using sample = await runSample(readme, 3);
    const url = await sample.url;
    const status = async (init: RequestInit): Promise<number> => (await fetch(url, init)).status;
    const from = (site: string): RequestInit => ({ method: "POST", headers: { "Sec-Fetch-Site": site } });
    expect(await Promise.all([status({}), status(from("same-origin")), status(from("cross-site"))])).to.eql([
      200, 200, 403,
    ]);
  });
});

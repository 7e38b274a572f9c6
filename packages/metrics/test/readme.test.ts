import { readFileSync } from "node:fs";
import { codeBlocks, runSample } from "@svc/test-support";
import { expect } from "chai";

const readme = new URL("../README.md", import.meta.url);
const markdown = readFileSync(readme, "utf8");

describe("the samples in the README of @svc/metrics", () => {
  it("SYS-7 MET-3 MET-4 MET-5 MET-6 serve the metrics quoted in the README after one request", async () => {
    await using sample = await runSample(readme, 0);
    const url = await sample.url;
    expect(await (await fetch(`${url}/items/7`)).json()).to.deep.equal({ id: "7" });
    const text = await (await fetch(`${url}/metrics`)).text();
    const shown = codeBlocks(markdown, "text")[0]?.trim().split("\n") ?? [];
    expect(shown).to.have.lengthOf(4);
    for (const line of shown) expect(text.split("\n"), line).to.include(line);
  });

  it("serve a metric of the application", async () => {
    await using sample = await runSample(readme, 1);
    const url = await sample.url;
    expect(await (await fetch(url)).text()).to.equal("placed");
    expect(await (await fetch(`${url}/metrics`)).text()).to.contain("\norders_total 1\n");
    expect((await fetch(`${url}/metrics`, { method: "POST" })).status).to.equal(405);
  });
});

import { readFileSync } from "node:fs";
import { codeBlocks, runSample } from "@svc/test-support";
import { expect } from "chai";

const readme = new URL("../README.md", import.meta.url);
const markdown = readFileSync(readme, "utf8");

describe("the README of @svc/health", () => {
  it("SYS-1 SYS-3 SYS-5 has a sample that responds exactly as quoted", async () => {
    await using sample = await runSample(readme, 0);
    const url = await sample.url;
    const shown = codeBlocks(markdown, "text")[0]?.trim().split("\n") ?? [];
    expect(shown).to.have.lengthOf(3);
    for (const line of shown) {
      const [, path = "", status, ...body] = line.split(/ +/);
      const answer = await fetch(url + path);
      expect([String(answer.status), await answer.text()]).to.deep.equal([status, body.join(" ")]);
    }
  });

  it("RDY-20 has a sample whose state changes from serving to draining on SIGTERM", async function () {
    if (process.platform === "win32") {
      console.log("skipped: Windows has no SIGTERM");
      this.skip();
    }
    await using sample = await runSample(readme, 1);
    const url = await sample.url;
    expect((await fetch(`${url}/ready`)).status).to.equal(200);
    expect((await fetch(`${url}/info`)).status).to.equal(404);
    sample.kill("SIGTERM");
    let answer = await fetch(`${url}/ready`);
    while (answer.status === 200) answer = await fetch(`${url}/ready`);
    expect(answer.status).to.equal(503);
    expect(await answer.json()).to.have.nested.property("checks.shutdown.detail", "shutting down");
    expect((await fetch(`${url}/health`)).status).to.equal(200);
  });
});

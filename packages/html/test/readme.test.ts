import { codeBlocks, runSample } from "@svc/test-support";
import { expect } from "chai";
import { readFileSync } from "node:fs";

const readme = new URL("../README.md", import.meta.url);

describe("README", () => {
  it("has a sample that prints the text below it", async () => {
    await using sample = await runSample(readme, 0);
    const { stdout, stderr, code } = await sample.ended;
    expect(code, stderr).to.equal(0);
    const [shown] = codeBlocks(readFileSync(readme, "utf8"), "text");
    expect(stdout.trim()).to.equal(shown?.trim());
  });
});

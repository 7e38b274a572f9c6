import { codeBlocks, runSample } from "@svc/test-support";
import { expect } from "chai";
import { readFile } from "node:fs/promises";

const readme = new URL("../README.md", import.meta.url);

describe("the sample on signing keys in the README of @svc/token-issuer", () => {
  it("replaces a key, whose tokens stay valid (KEY-3)", async () => {
    const blocks = codeBlocks(await readFile(readme, "utf8"), "js");
    const index = blocks.findIndex((block) => block.includes("promoteKey("));
    expect(index).to.be.above(-1);
    await using sample = await runSample(readme, index);
    const { stdout, stderr } = await sample.ended;
    expect(stderr).to.equal("");
    expect(stdout).to.equal("EdDSA 2\nada\n");
  });
});

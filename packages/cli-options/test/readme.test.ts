import { runSample } from "@svc/test-support";
import { expect } from "chai";
import { readFile } from "node:fs/promises";

const readme = new URL("../README.md", import.meta.url);

describe("the sample in the README of @svc/cli-options", () => {
  it("prints the help, the parsed arguments and an error", async () => {
    await using sample = await runSample(readme, 0);
    const { stdout, stderr, code } = await sample.ended;
    expect(code, stderr).to.equal(0);
    const [, printed] = /It prints:\n\n```\n(.*?)```/s.exec(await readFile(readme, "utf8")) ?? [];
    expect(stdout.trimEnd()).to.equal(printed?.trimEnd());
  });
});

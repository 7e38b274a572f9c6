import { runSample } from "@svc/test-support";
import { expect } from "chai";
import { readFile } from "node:fs/promises";

const readme = new URL("../README.md", import.meta.url);

describe("the samples in the README of @svc/cli-options", () => {
  it("print the value of a flag", async () => {
    await using sample = await runSample(readme, 0);
    const { stdout, stderr, code } = await sample.ended;
    expect([code, stderr, stdout]).to.deep.equal([0, "", "3\n"]);
  });

  it("print the help, the parsed arguments and an error", async () => {
    await using sample = await runSample(readme, 1);
    const { stdout, stderr, code } = await sample.ended;
    expect(code, stderr).to.equal(0);
    const [, printed] = /It prints:\n\n```\n(.*?)```/s.exec(await readFile(readme, "utf8")) ?? [];
    expect(stdout.trimEnd()).to.equal(printed?.trimEnd());
  });
});

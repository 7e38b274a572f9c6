import { runSample } from "@svc/test-support";
import { expect } from "chai";

describe("the README of @svc/plugin", () => {
  it("shows a plugin that loads", async () => {
    await using sample = await runSample(new URL("../README.md", import.meta.url));
    expect(await sample.ended).to.deep.equal({ code: 0, stdout: "", stderr: "" });
  });
});

import { runSample } from "@svc/test-support";
import { expect } from "chai";

const readme = new URL("../README.md", import.meta.url);

async function output(index: number): Promise<string[]> {
  await using sample = await runSample(readme, index);
  const { stdout, stderr, code } = await sample.ended;
  expect(code, stderr).to.equal(0);
  return stdout.trim().split("\n");
}

describe("README", () => {
  it("has a sample with a breaker that opens and refuses a call", async () => {
    const lines = await output(0);
    expect(lines).to.have.lengthOf(4);
    expect(lines.slice(0, 3)).to.not.include("ERR_SVC_BREAKER_OPEN");
    expect(lines[3]).to.equal("ERR_SVC_BREAKER_OPEN");
  });

  it("has a sample with a hundred callers that share one probe", async () => {
    expect(await output(1)).to.deep.equal(["1"]);
  });

  it("has a sample with delays and a warning that is not repeated", async () => {
    expect(await output(2)).to.deep.equal(["2000 4000 300000", "the store is down 0"]);
  });
});

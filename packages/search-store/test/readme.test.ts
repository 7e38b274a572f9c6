import { runSample } from "@svc/test-support";
import { expect } from "chai";

const readme = new URL("../README.md", import.meta.url);

describe("a sample in the README of @svc/search-store", function () {
  this.timeout(120_000);

  it("prints the migration steps", async () => {
    await using sample = await runSample(readme, 1, { env: { DATABASE_URL: "postgres://127.0.0.1:1/x" } });
    const { stdout, stderr, code } = await sample.ended;
    expect(code, stderr).to.equal(0);
    expect(stdout).to.equal("0001_vector 1\n0002_svc_chunks 8\n");
  });
});

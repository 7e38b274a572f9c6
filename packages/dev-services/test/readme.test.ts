import { needsPostgres } from "@svc/dev-services";
import { runSample } from "@svc/test-support";
import { expect } from "chai";

describe("README of @svc/dev-services", function () {
  this.timeout(60_000);
  needsPostgres();

  it("has a sample that starts a server and exits without an error", async () => {
    await using sample = await runSample(new URL("../README.md", import.meta.url));
    const { code, stdout, stderr } = await sample.ended;
    expect(stderr).to.equal("");
    expect(stdout).to.match(/^PostgreSQL \d+[.\d]* at postgresql:\/\/postgres@127\.0\.0\.1:\d+\/postgres\n$/);
    expect(code).to.equal(0);
  });
});

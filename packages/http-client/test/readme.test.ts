import { runSample } from "@svc/test-support";
import { expect } from "chai";

const readme = new URL("../README.md", import.meta.url);

describe("README of @svc/http-client", function () {
  this.timeout(30_000);

  it("has a sample that calls a service, and fails with 503 when the service has ended", async () => {
    await using sample = await runSample(readme, 0);
    const { stdout, stderr, code } = await sample.ended;
    expect(code, stderr).to.equal(0);
    expect(stdout).to.equal(
      "200 { url: '/invoices?page=2', cents: 4200 }\n503 the service 'billing' is not answering\n",
    );
  });

  it("HTTP-1 has a sample that instruments fetch, which then sends the request id", async () => {
    await using sample = await runSample(readme, 1);
    const { stdout, stderr, code } = await sample.ended;
    expect(code, stderr).to.equal(0);
    expect(stdout).to.equal("invoices for r-1\n");
  });
});

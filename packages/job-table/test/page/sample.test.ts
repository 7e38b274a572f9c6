import { readFileSync } from "node:fs";
import { testDatabase } from "@svc/dev-services";
import { codeBlocks, runSample } from "@svc/test-support";
import { expect } from "chai";

const readme = new URL("../../README.md", import.meta.url);

describe("the queue page sample in the README", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "job page readme" });

  it("JOB-32 serves the page only to callers that its guard admits", async () => {
    const index = codeBlocks(readFileSync(readme, "utf8"), "js").findIndex((code) =>
      code.includes("queueRoutes("),
    );
    await using sample = await runSample(readme, index, { env: { DATABASE_URL: database.url } });
    const url = `${await sample.url}/admin/queue`;
    expect((await fetch(url)).status).to.equal(404);
    const headers = { "x-operator": "let-me-in" };
    expect((await fetch(url, { headers })).status).to.equal(200);
    const stats = await fetch(`${url}/stats`, { headers });
    expect(await stats.text()).to.equal('{"pending":0,"running":0,"dead":0}');
  });
});

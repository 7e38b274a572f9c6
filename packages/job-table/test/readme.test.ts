import { testDatabase } from "@svc/dev-services";
import { runSample } from "@svc/test-support";
import { expect } from "chai";

const readme = new URL("../README.md", import.meta.url);

describe("the samples in the README of @svc/job-table", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "job readme" });

  it("queue a job and run it", async () => {
    await using sample = await runSample(readme, 0, { env: { DATABASE_URL: database.url } });
    const { stdout, stderr, code } = await sample.ended;
    expect(code, stderr).to.equal(0);
    expect(stdout).to.equal("sending to ann attempt 1\n{ pending: 0, running: 0, dead: 0 }\n");
  });

  it("queue a job in a transaction, and retry it when it is dead", async () => {
    await using sample = await runSample(readme, 1, { env: { DATABASE_URL: database.url } });
    const { stdout, stderr, code } = await sample.ended;
    expect(code, stderr).to.equal(0);
    expect(stdout).to.equal(
      "{ id: 'welcome-ann', enqueued: false }\ndead\n[ 'welcome-ann: Error: the mail server is down' ]\n[ 'welcome-ann' ]\n",
    );
  });

  it("check the payloads of a task by its schema", async () => {
    await using sample = await runSample(readme, 2, { env: { DATABASE_URL: database.url } });
    const { stdout, stderr, code } = await sample.ended;
    expect(code, stderr).to.equal(0);
    expect(stdout).to.equal(
      "orders 2026\nthe payload does not match the schema of the task report.make at payload.of\n",
    );
  });
});

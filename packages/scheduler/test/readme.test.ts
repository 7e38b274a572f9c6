import { testDatabase } from "@svc/dev-services";
import { runSample } from "@svc/test-support";
import { expect } from "chai";

const readme = new URL("../README.md", import.meta.url);

describe("README of @svc/scheduler", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "scheduler readme" });

  async function output(sample: number): Promise<string> {
    await using running = await runSample(readme, sample, { env: { DATABASE_URL: database.url } });
    const { stdout, stderr, code } = await running.ended;
    expect(code, stderr).to.equal(0);
    return stdout;
  }

  it("shows a job that runs every second", async () => {
    expect(await output(0)).to.match(
      /^\{\n? *from: 'the example',\s+scheduled_for: '20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z'\n? *\}\n$/,
    );
  });

  it("SCH-1 SCH-3 shows the ticks of two replicas across a change to daylight-saving time", async () => {
    expect(await output(1)).to.equal(
      "[]\n[ '2026-03-28T01:30:00.000Z' ]\n[ '2026-03-29T01:30:00.000Z' ]\n[ '2026-03-30T00:30:00.000Z' ]\n",
    );
  });
});

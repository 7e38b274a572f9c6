import { testDatabase } from "@svc/dev-services";
import { runSample } from "@svc/test-support";
import { expect } from "chai";

const readme = new URL("../README.md", import.meta.url);

describe("the README of @svc/rollups", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "rollups readme" });

  async function output(sample: number): Promise<string> {
    await using running = await runSample(readme, sample, { env: { DATABASE_URL: database.url } });
    const { stdout, stderr, code } = await running.ended;
    expect(code, stderr).to.equal(0);
    return stdout;
  }

  it("ROLL-1 has a sample that prints the total of a month", async () => {
    expect(await output(0)).to.equal("[ { month: '2026-03-01', total: '12.50' } ]\n");
  });

  it("ROLL-1 ROLL-4 has a sample that refreshes totals in the transaction that writes their rows", async () => {
    expect(await output(1)).to.equal(`[
  { month: '2026-03-01', category: 'food', total: '12.50', n: '1' },
  { month: '2026-03-01', category: null, total: '30.00', n: '1' },
  { month: '2026-04-01', category: 'food', total: '4.00', n: '1' }
]
[
  { category: 'food', total: '16.50', n: '2' },
  { category: null, total: '30.00', n: '1' }
]
`);
  });

  it("ROLL-2 has a sample that refreshes totals by a job", async () => {
    expect(await output(2)).to.equal("true\nfalse\nfalse\n1\n[ { month: '2026-03-01', n: '3' } ]\n");
  });

  it("ROLL-4 ROLL-5 has a sample of a service with the plugin `rollups`", async () => {
    const lines = (await output(3)).split("\n").filter((line) => !line.startsWith("{"));
    expect(lines.join("\n")).to.equal("[ { month: '2026-04-01', total: '12.50' } ]\n");
  });
});

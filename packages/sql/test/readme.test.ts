import { testDatabase } from "@svc/dev-services";
import { runSample } from "@svc/test-support";
import { expect } from "chai";

const readme = new URL("../README.md", import.meta.url);

describe("README", () => {
  const database = testDatabase({ name: "readme" });

  async function output(index: number): Promise<string[]> {
    await using sample = await runSample(readme, index, { env: { DATABASE_URL: database.url } });
    const { stdout, stderr, code } = await sample.ended;
    expect(code, stderr).to.equal(0);
    return stdout.trim().split("\n");
  }

  it("shows a schema and a transaction", async () => {
    expect(await output(0)).to.deep.equal(["1"]);
    expect(await output(0), "the schema is there by now").to.deep.equal(["2"]);
  });

  it("shows row security", async () => {
    expect(await output(1)).to.deep.equal(["created", "present", "[]"]);
  });

  it("shows a statement that meets its deadline, and a statement that misses it", async () => {
    expect(await output(2)).to.deep.equal([
      "[ { one: 1 } ]",
      "the report got no response from the database within 3 s; a statement already sent may still take effect",
    ]);
  });

  it("shows quoted names", async () => {
    expect(await output(3)).to.deep.equal(['"my ""table"""', '"audit"."jobs"', "'it''s'"]);
  });
});

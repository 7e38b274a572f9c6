import { testDatabase } from "@svc/dev-services";
import { runSample } from "@svc/test-support";
import { expect } from "chai";

const readme = new URL("../README.md", import.meta.url);

describe("the samples in the README of @svc/sql", () => {
  const database = testDatabase({ name: "readme" });

  async function output(index: number): Promise<string[]> {
    await using sample = await runSample(readme, index, { env: { DATABASE_URL: database.url } });
    const { stdout, stderr, code } = await sample.ended;
    expect(code, stderr).to.equal(0);
    return stdout.trim().split("\n");
  }

  it("create a schema and run a transaction", async () => {
    expect(await output(0)).to.deep.equal(["1"]);
    expect(await output(0), "the schema is there by now").to.deep.equal(["2"]);
  });

  it("enable row security once, and read no rows without a tenant", async () => {
    expect(await output(1)).to.deep.equal(["created", "present", "[]"]);
  });

  it("return the rows of a statement that meets its deadline, and report one that misses it", async () => {
    expect(await output(2)).to.deep.equal([
      "[ { one: 1 } ]",
      "the report got no response from the database within 3 s; a statement already sent may still take effect",
    ]);
  });

  it("quote names and a string", async () => {
    expect(await output(3)).to.deep.equal(['"my ""table"""', '"audit"."jobs"', "'it''s'"]);
  });
});

import { testDatabase } from "@svc/dev-services";
import { expect } from "chai";
import { Client } from "pg";

describe("testDatabase", () => {
  const database = testDatabase({ name: "first" });
  const other = testDatabase({ name: "second" });

  it("gives each describe its own empty database", async () => {
    const client = new Client({ connectionString: database.url });
    await client.connect();
    await client.query("create table here (id int)");
    await client.end();
    const second = new Client({ connectionString: other.url });
    await second.connect();
    const { rows } = await second.query("select count(*)::int as n from pg_tables where tablename = 'here'");
    await second.end();
    expect(rows).to.deep.equal([{ n: 0 }]);
    expect(new URL(database.url).hostname).to.equal("127.0.0.1");
  });
});

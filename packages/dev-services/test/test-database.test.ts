import { openTestDatabase, testDatabase } from "@svc/dev-services";
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

  it("waits for connections that are being closed before it drops the database", async () => {
    const dropped = await openTestDatabase({ name: "closing" });
    const client = new Client({ connectionString: dropped.url });
    const errors: Error[] = [];
    client.on("error", (error) => errors.push(error));
    await client.connect();
    const disposal = dropped[Symbol.asyncDispose]();
    await client.query("select pg_sleep(0.05)");
    await client.end();
    await disposal;
    expect(errors).to.deep.equal([]);
  });

  it("drops the database by force if a connection stays open", async () => {
    const dropped = await openTestDatabase({ name: "open" });
    const client = new Client({ connectionString: dropped.url });
    const errors: Error[] = [];
    client.on("error", (error) => errors.push(error));
    await client.connect();
    const closed = new Promise((resolve) => client.once("end", resolve));
    await dropped[Symbol.asyncDispose]();
    await closed;
    expect(errors[0]).to.have.property("code", "57P01");
    const again = new Client({ connectionString: dropped.url });
    const refusal: unknown = await again.connect().catch((error: unknown) => error);
    expect(refusal).to.have.property("code", "3D000");
  });
});

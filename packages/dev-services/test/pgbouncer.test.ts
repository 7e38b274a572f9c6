import { openTestLogin, testDatabase, testPgBouncer } from "@svc/dev-services";
import { expect } from "chai";
import { Client } from "pg";
import { isAlive } from "../src/processes.ts";
import { rejection } from "./support/rejection.ts";

async function asked(url: string, sql: string): Promise<unknown> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows[0];
  } finally {
    await client.end();
  }
}

describe("testPgBouncer", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "pgbouncer" });
  const bouncer = testPgBouncer();

  it("shares one server connection between two clients, and ends its process at stop()", async () => {
    await using login = await openTestLogin({ url: database.url });
    const pooler = await bouncer.start(login.url, 1);
    const { url, pid } = pooler;
    const clients = [new Client({ connectionString: url }), new Client({ connectionString: url })];
    for (const client of clients) await client.connect();
    const pids = await Promise.all(
      clients.map(
        async (client) =>
          (await client.query<{ pid: number }>("select pg_backend_pid() as pid")).rows[0]?.pid,
      ),
    );
    expect(new Set(pids).size).to.equal(1);
    for (const client of clients) await client.end();
    await pooler.stop();
    expect(isAlive(pid)).to.equal(false);
    expect((await rejection(asked(url, "select"))).message).to.match(/ECONNREFUSED/);
  });
});

describe("openTestLogin", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "login" });

  it("creates a login with only the granted privileges, and drops it with its objects", async () => {
    let url: string;
    {
      await using login = await openTestLogin({
        url: database.url,
        grants: ["grant usage, create on schema public to login"],
      });
      ({ url } = login);
      await asked(url, "create table owned (id int)");
      expect(await asked(url, "select current_user::text as name")).to.deep.equal({ name: login.name });
      const plain = "select rolsuper or rolbypassrls as much from pg_roles where rolname = current_user";
      expect(await asked(url, plain)).to.deep.equal({ much: false });
      expect((await rejection(asked(url, "create schema mine"))).message).to.match(/permission denied/);
    }
    expect(await asked(database.url, "select to_regclass('owned') as owned")).to.deep.equal({ owned: null });
    expect((await rejection(asked(url, "select"))).message).to.match(/login_/);
  });
});

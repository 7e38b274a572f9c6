import { createDatabase } from "@svc/database";
import { testDatabase } from "@svc/dev-services";
import { codeBlocks, runSample, signToken } from "@svc/test-support";
import { expect } from "chai";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { type Login, makeLogin } from "./support/login.ts";

const readme = new URL("../README.md", import.meta.url);
const sampleUrl = "postgres://app:secret@127.0.0.1:5432/app";

describe("README of @svc/database", function () {
  this.timeout(60_000);
  let login: Login | undefined;
  after(() => login?.drop());
  const postgres = testDatabase({ name: "readme" });

  it("shows a service that responds with data from the database", async () => {
    await using sample = await runSample(readme, 0, { replace: { [sampleUrl]: postgres.url } });
    const url = await sample.url;
    expect(await (await fetch(`${url}/sum?of=41`)).json()).to.deep.equal({ sum: 42 });
    expect(await (await fetch(`${url}/ready`)).json()).to.deep.equal({ healthy: true, detail: "connected" });
  });

  it("ERR-1 shows a service that returns a 503 problem with Retry-After while the database is down", async () => {
    // Nothing listens on port 1, whereas another process could take a free port during the test.
    const nowhere = "postgres://app:secret@127.0.0.1:1/app";
    await using sample = await runSample(readme, 0, { replace: { [sampleUrl]: nowhere } });
    const url = await sample.url;
    const answer = await fetch(`${url}/sum`);
    expect(answer.status).to.equal(503);
    expect(answer.headers.get("content-type")).to.equal("application/problem+json");
    expect(Number(answer.headers.get("retry-after"))).to.be.at.least(1);
    expect(await answer.json()).to.include({
      title: "Service Unavailable",
      detail: "the database is not answering; retry shortly",
      instance: "/sum",
    });
    const ready = await fetch(`${url}/ready`);
    expect(ready.status).to.equal(503);
    expect(await ready.json()).to.deep.equal({ healthy: false, detail: "not answering (ECONNREFUSED)" });
  });

  it("shows a script and a service whose tenants see only their own rows, and the SQL for the required logins", async () => {
    login = await makeLogin(postgres.url);
    const replace = { [sampleUrl]: login.url };
    {
      await using sample = await runSample(readme, 1, { replace });
      const { stdout, stderr, code } = await sample.ended;
      expect(code, stderr).to.equal(0);
      expect(stdout).to.equal("[ { text: 'to acme' } ]\n[]\n");
    }
    await using sample = await runSample(readme, 2, { replace });
    const token = signToken({ tenant_id: "globex" }, "only-for-this-example-0123456789");
    const url = `${await sample.url}/letters`;
    const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    expect(await answer.json()).to.deep.equal([{ text: "to globex" }]);
    expect((await fetch(url)).status).to.equal(401);
    const suffix = randomBytes(4).toString("hex");
    const sql = codeBlocks(readFileSync(readme, "utf8"), "sql").map((block) =>
      block.replaceAll(/\b(app|operator)\b/g, `$1_${suffix}`),
    );
    await using admin = createDatabase({ url: postgres.url, max: 1 });
    for (const statements of sql) await admin.query(statements);
    try {
      const seen = async (name: string, tenant: string): Promise<unknown[]> => {
        const url = new URL(postgres.url);
        url.username = `${name}_${suffix}`;
        url.password = "secret";
        await using db = createDatabase({ url: url.href });
        return (await db.withTenant(tenant, (tx) => tx.query("select tenant_id from letters order by 1")))
          .rows;
      };
      const [acme, globex] = [{ tenant_id: "acme" }, { tenant_id: "globex" }];
      expect(await seen("app", "acme")).to.deep.equal([acme]);
      expect(await seen("operator", "acme")).to.deep.equal([acme, globex]);
    } finally {
      for (const name of ["app", "operator"]) {
        await admin.query(`drop owned by ${name}_${suffix}; drop role ${name}_${suffix}`);
      }
    }
  });

  it("shows a script that guards its own pool and leaves it open", async () => {
    await using sample = await runSample(readme, 3, { replace: { [sampleUrl]: postgres.url } });
    const { stdout, stderr, code } = await sample.ended;
    expect(code, stderr).to.equal(0);
    expect(stdout).to.equal("[ { one: 1 } ]\n[ { two: 2 } ]\n");
  });

  it("shows a script in which Kysely sees only the tenant's rows", async () => {
    const mapperLogin = await makeLogin(postgres.url);
    try {
      await using sample = await runSample(readme, 4, { replace: { [sampleUrl]: mapperLogin.url } });
      const { stdout, stderr, code } = await sample.ended;
      expect(code, stderr).to.equal(0);
      expect(stdout).to.equal("[ { text: 'books' } ]\n[]\n[ { one: 1 } ]\n");
    } finally {
      await mapperLogin.drop();
    }
  });

  it("shows a service in which Drizzle runs in the tenant's transaction, and returns the database's 503", async () => {
    {
      await using sample = await runSample(readme, 5, { replace: { [sampleUrl]: postgres.url } });
      const answer = await fetch(`${await sample.url}/tenants/acme/setting`);
      expect(await answer.json()).to.deep.equal({ tenant: "acme" });
    }
    const nowhere = "postgres://app:secret@127.0.0.1:1/app";
    await using sample = await runSample(readme, 5, { replace: { [sampleUrl]: nowhere } });
    expect((await fetch(`${await sample.url}/tenants/acme/setting`)).status).to.equal(503);
  });
});

import { testDatabase } from "@svc/dev-services";
import { createDatabase } from "@svc/database";
import { expect } from "chai";
import request from "supertest";
import { demoTenants } from "../src/seed.ts";
import { caller, tokenOf } from "./support/caller.ts";
import { expense, list, record, walk } from "./support/expenses.ts";
import { runService, serviceFor } from "./support/running-service.ts";
import { logIn } from "./support/sign-in.ts";

const [cafe, bikes] = demoTenants;

describe("access to expenses", () => {
  const running = serviceFor(testDatabase({ name: "tenants" }), { seed: true, demoUsers: true });

  it("TEN-4 depends on the token: callers see all expenses of their own tenant", async () => {
    for (const tenant of demoTenants) expect(await walk(running.url, { tenant })).to.have.length(120);
    const id = await record(running.url, { tenant: cafe });
    expect((await caller(running.url, cafe).get(`/expenses/${id}`)).status).to.equal(200);
    expect((await caller(running.url, bikes).get(`/expenses/${id}`)).status).to.equal(404);
    expect(await list(running.url, { tenant: "nobody" })).to.deep.equal({ expenses: [], next: null });
  });

  it("AUTH-13 AUTH-15 is refused with 401 without a token and with 403 without the scope", async () => {
    const id = await record(running.url, { tenant: cafe });
    for (const path of ["/expenses", `/expenses/${id}`, "/totals"]) {
      expect((await request(running.url).get(path)).status, path).to.equal(401);
    }
    const reader = caller(running.url, cafe, { scope: "expenses:read" });
    const { status, body } = await reader.post("/expenses").send(expense());
    expect({ status, missing: (body as { missing_scopes: string[] }).missing_scopes }).to.deep.equal({
      status: 403,
      missing: ["expenses:write"],
    });
    expect((await caller(running.url, cafe, { scope: "expenses:write" }).get("/expenses")).status).to.equal(
      403,
    );
  });

  it("TEN-6 TEN-10 is refused with 403 without a tenant and for another tenant's host name", async () => {
    const unscoped = request(running.url)
      .get("/expenses")
      .set("Authorization", `Bearer ${tokenOf(undefined)}`);
    expect((await unscoped).status).to.equal(403);
    const elsewhere = caller(running.url, cafe).get("/expenses");
    expect((await elsewhere.set("Host", `${bikes}.localhost`)).status).to.equal(403);
    const own = caller(running.url, cafe).get("/expenses");
    expect((await own.set("Host", `${cafe}.localhost`)).status).to.equal(200);
  });

  it("AUTH-16 includes totals only for admins, and only of their own tenant", async () => {
    expect((await caller(running.url, cafe).get("/totals")).status).to.equal(403);
    const { status, body } = await caller(running.url, "stone-and-leaf", { roles: ["admin"] }).get("/totals");
    const { totals } = body as { totals: { category: string; expenses: number; amount: string }[] };
    expect(status).to.equal(200);
    expect(totals.reduce((sum, each) => sum + each.expenses, 0)).to.equal(120);
    expect(totals.every(({ amount }) => /^\d+\.\d\d$/.test(amount))).to.equal(true);
  });

  it("AUTH-17 is not needed for /whoami, which reports the caller if there is one", async () => {
    expect((await request(running.url).get("/whoami")).body).to.deep.equal({ signed_in: false });
    const { body } = await caller(running.url, cafe, { sub: "ann", roles: ["admin"] }).get("/whoami");
    expect(body).to.deep.equal({
      signed_in: true,
      subject: "ann",
      tenant: cafe,
      scopes: ["expenses:read", "expenses:write"],
      roles: ["admin"],
    });
  });

  it("is enforced by the table: a statement without a tenant reads and writes no rows", async () => {
    await using db = createDatabase({ url: running.databaseUrl });
    expect((await db.query("select from expenses")).rowCount).to.equal(0);
    const foreign = db.withTenant(cafe, (tx) => tx.query("update expenses set tenant = $1", [bikes]));
    expect(String(await foreign.catch((error: unknown) => error))).to.contain("row-level security");
    const counted = await db.withTenant(cafe, (tx) =>
      tx.query("delete from expenses where tenant = $1", [bikes]),
    );
    expect(counted.rowCount).to.equal(0);
  });

  it("CFG-4 is granted with the service's own tokens, even if the environment sets another issuer and audience", async () => {
    const env = {
      SVC_AUTH_ISSUER: "elsewhere",
      SVC_AUTH_AUDIENCE: '["a","b"]',
      SVC_AUTH_TENANT_CLAIM: "org",
    };
    await using other = await runService(running.databaseUrl, { demoUsers: true }, env);
    const { access_token } = await logIn(other.url, `admin@${cafe}.example`);
    const asked = request(other.url).get("/totals").set("Authorization", `Bearer ${access_token}`);
    expect((await asked).status).to.equal(200);
    const elsewhere = request(running.url).get("/totals").set("Authorization", `Bearer ${access_token}`);
    expect((await elsewhere).status).to.equal(401);
  });
});

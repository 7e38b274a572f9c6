import { randomBytes } from "node:crypto";
import { requireAuth } from "@svc/jwt-auth";
import { requireTenant, tenantOf } from "@svc/tenancy";
import { testDatabase } from "@svc/dev-services";
import { badTenantIds, goodTenantIds, signToken } from "@svc/test-support";
import { expect } from "chai";
import type { Express } from "express";
import request from "supertest";
import type { Service } from "@svc/express";
import { onBothMajors } from "./support/majors.ts";
import { startService } from "./support/test-service.ts";

const secret = randomBytes(32).toString("base64");
const toml = `
[plugins]
enabled = ["observability", "metrics", "database", "auth", "tenancy"]
[plugin.database]
url = "\${DATABASE_URL}"
[plugin.auth]
mode = "secret"
algorithms = ["HS256"]
[plugin.tenancy]
sources = ["token"]
`;
const badNames = ["a\0", "a\r\nb", "a\u007f", "a\u009b", "a\ud800"];

function routes(app: Express, { db }: Service): void {
  app.get("/open", (req, res) => res.json({ tenant: tenantOf(req) ?? null }));
  app.get("/rows", requireAuth(), requireTenant(), async (req, res) => {
    const rows = await db?.withTenant(tenantOf(req) ?? "", async (tx) => {
      return (await tx.query("select current_setting('svc' || '.tenant') as tenant")).rows;
    });
    res.json(rows?.[0]);
  });
}

onBothMajors((express) => {
  describe("a service that receives signed tokens with unusual user or tenant names", function () {
    this.timeout(60_000);
    const database = testDatabase({ name: "hostile-tenants" });
    const start = () =>
      startService({
        toml,
        app: express(),
        routes,
        env: { SVC_AUTH_SECRET: secret, DATABASE_URL: database.url },
      });
    const signed = (claims: object): string => `Bearer ${signToken({ sub: "ann", ...claims }, secret)}`;

    it("returns 401, never 500, for a name that a store cannot hold, and logs only the claim's name (AUTH-39)", async () => {
      await using test = await start();
      const bad = [
        ...Object.values(badTenantIds).map((tenant_id) => ({ tenant_id })),
        ...badNames.flatMap((name) => [{ sub: name }, { jti: name }, { fam: name }]),
      ];
      for (const claims of bad) {
        const whole = { tenant_id: "acme", ...claims };
        const answer = await request(test.url).get("/rows").set("Authorization", signed(whole));
        expect(answer.status, JSON.stringify(claims).slice(0, 60)).to.equal(401);
        expect(answer.body).to.include({ detail: "authentication required" });
        const open = await request(test.url).get("/open").set("Authorization", signed(whole));
        expect([open.status, open.body]).to.deep.equal([200, { tenant: null }]);
      }
      const refused = test.lines.filter(({ message }) => message === "bearer token refused");
      expect(refused).to.have.length(2 * bad.length);
      for (const { reason, at } of refused) {
        expect(reason).to.equal("claim_type");
        expect(at).to.be.oneOf(["tenant_id", "sub", "jti", "fam"]);
      }
    });

    it("gives access to the database for every valid tenant id (AUTH-39)", async () => {
      await using test = await start();
      for (const tenant_id of goodTenantIds) {
        const answer = await request(test.url).get("/rows").set("Authorization", signed({ tenant_id }));
        expect([answer.status, answer.body]).to.deep.equal([200, { tenant: tenant_id }]);
      }
    });
  });
});

import { requireTenant, requestedTenant, tenancy, tenantOf } from "@svc/tenancy";
import { problemHandler } from "@svc/problem";
import { expressMajors, listen } from "@svc/test-support";
import { expect } from "chai";
import { ask } from "./support/ask.ts";
import { report, verified } from "./support/stacks.ts";

const path = { sources: ["token", "path"] } as const;

for (const [name, express] of Object.entries(expressMajors)) {
  describe(`tenancy() behind mounts, on ${name}`, () => {
    async function served(
      build: (app: ReturnType<typeof express>) => void,
      check: (port: number) => Promise<void>,
    ): Promise<void> {
      const app = express();
      app.use(verified);
      build(app);
      app.use(problemHandler());
      await using server = await listen(app as unknown as Parameters<typeof listen>[0]);
      await check(server.port);
    }

    it("reads the path as sent, before a mount strips its prefix (TEN-14)", () =>
      served(
        (app) => {
          const router = express.Router();
          router.use(tenancy(path), requireTenant());
          router.get("/orders", report);
          app.use("/t/:tenant", router);
        },
        async (port) => {
          const caller = { tenant: "acme" };
          const own = await ask(port, { target: "/t/acme/orders", caller });
          expect([own.status, own.body["tenant"]]).to.eql([200, "acme"]);
          expect((await ask(port, { target: "/t/globex/orders", caller })).status).to.equal(403);
          expect((await ask(port, { target: "/T/globex/orders", caller })).status).to.equal(403);
          expect((await ask(port, { target: "/t/globex/orders" })).status).to.equal(401);
        },
      ));

    it("finds no tenant when the prefix matches only inside a mount (TEN-14)", () =>
      served(
        (app) => {
          const inner = express();
          inner.use(tenancy({ ...path, auth: false }));
          inner.use(report);
          app.use("/api", inner);
        },
        async (port) => {
          const { body } = await ask(port, { target: "/api/t/globex/orders" });
          expect(body["tenant"]).to.equal(undefined);
        },
      ));

    it("does not exempt a mounted route whose path ends like an exempt path (TEN-16)", () =>
      served(
        (app) => {
          const inner = express();
          inner.use(tenancy({ ...path, requireTenant: true }));
          inner.get("/health", report);
          app.use("/shop", inner);
        },
        async (port) => {
          expect((await ask(port, { target: "/shop/health" })).status).to.equal(403);
        },
      ));

    it("does not exempt variants of /health that Express routes elsewhere (TEN-16)", () =>
      served(
        (app) => {
          app.use(tenancy({ ...path, requireTenant: true }));
          app.get("/health", (_req, res) => void res.send("health"));
          app.use((_req, res) => void res.send("elsewhere"));
        },
        async (port) => {
          for (const target of ["/health", "/health?x"]) {
            expect((await ask(port, { target })).status, target).to.equal(200);
          }
          for (const target of [
            "//health",
            "/health%2f..",
            "/%68ealth",
            "/health/x",
            "/health;",
            "/health//",
          ]) {
            expect((await ask(port, { target })).status, target).to.equal(403);
          }
        },
      ));

    it("requires a tenant only on routes whose guard requires one (TEN-10, TEN-18)", () =>
      served(
        (app) => {
          app.use(tenancy({ sources: ["token", "subdomain"], baseDomain: "example.com" }));
          app.get("/open", report);
          app.get("/sign-in", requestedTenant(), report);
          app.get("/orders", requireTenant(), (req, res) => void res.json({ tenant: tenantOf(req) }));
        },
        async (port) => {
          const globex = { lines: ["Host: globex.example.com"] };
          expect((await ask(port, { target: "/open", ...globex })).status).to.equal(200);
          const page = await ask(port, { target: "/sign-in", ...globex });
          expect([page.status, page.body["requested"], page.body["tenant"]]).to.eql([
            200,
            "globex",
            undefined,
          ]);
          const apex = await ask(port, { target: "/sign-in", caller: { tenant: "acme" } });
          expect([apex.status, apex.body["detail"]]).to.eql([404, "this request names no tenant"]);
          expect((await ask(port, { target: "/orders", ...globex })).status).to.equal(401);
          const orders = await ask(port, { target: "/orders", caller: { tenant: "acme" } });
          expect(orders.body).to.eql({ tenant: "acme" });
        },
      ));
  });
}

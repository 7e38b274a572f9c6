import type { Request } from "express";
import { requestedTenant, requireTenant, tenancy, type TenancyOptions, tenantOf } from "@svc/tenancy";
import { expressMajors, listen } from "@svc/test-support";
import { expect } from "chai";
import { ask } from "./support/ask.ts";

// The compiler is the test: it must accept this code, and reject each line after @ts-expect-error.
describe("the types of @svc/tenancy", () => {
  it("keep the types of an Express handler after a guard", async () => {
    const app = expressMajors["express 5"]();
    app.use(tenancy({ sources: ["path"], auth: false }));
    app.get("/t/:tenant/orders/:id", requireTenant(), requestedTenant(), (req, res) => {
      const id: string = req.params.id;
      const tenant: string | undefined = tenantOf(req);
      res.json({ id, tenant });
    });
    await using server = await listen(app as unknown as Parameters<typeof listen>[0]);
    const { body } = await ask(server.port, { target: "/t/acme/orders/7" });
    expect(body).to.eql({ id: "7", tenant: "acme" });
  });

  it("reject a guard that was not called", () => {
    const app = expressMajors["express 5"]();
    // @ts-expect-error -- requireTenant() is the guard
    app.get("/orders", requireTenant);
    // @ts-expect-error -- requestedTenant() is the guard
    app.get("/sign-in", requestedTenant);
    expect(app).to.be.a("function");
  });

  it("accept functions that declare the request of Express", () => {
    const options: TenancyOptions = {
      sources: ["token"],
      hostOf: (req: Request) => req.hostname,
      callerOf: (req: Request) => ({ tenant: req.get("x-verified-tenant") }),
    };
    expect(tenancy(options)).to.be.a("function");
    // @ts-expect-error -- a number is not a host
    const wrong: TenancyOptions = { hostOf: (req: Request) => req.hostname.length };
    expect(wrong).to.have.property("hostOf");
  });

  it("list the sources, and accept undefined for an omitted option", () => {
    const options: TenancyOptions = {
      sources: ["token"],
      baseDomain: undefined,
      hostOf: (req) => (req as Request).hostname,
      callerOf: (req) => ({ tenant: req.headers["x-verified-tenant"]?.toString() }),
    };
    expect(tenancy(options)).to.be.a("function");
    // @ts-expect-error -- unknown source
    const wrong: TenancyOptions = { sources: ["cookie"] };
    expect(() => tenancy(wrong)).to.throw("sources");
    // @ts-expect-error -- a promise is not a caller
    const late: TenancyOptions = { callerOf: async () => undefined };
    expect(late).to.have.property("callerOf");
  });
});

import { requireContentType } from "@svc/json-body";
import { requireRoles, requireScopes } from "@svc/jwt-auth";
import { type Route, routesOf } from "@svc/route-template";
import { requireTenant } from "@svc/tenancy";
import { expressMajors } from "@svc/test-support";
import { expect } from "chai";
import connect from "connect";

function ok(_req: unknown, res: { end(text: string): void }): void {
  res.end("ok");
}

const shown = (routes: readonly Route[]): readonly string[] =>
  routes.map(({ method, path, guards }) =>
    [method, path, ...guards.map(({ kind, values }) => [kind, ...values].join(" "))].join(" | "),
  );

for (const [name, express] of Object.entries(expressMajors)) {
  describe(`routesOf on ${name}`, () => {
    it("returns each route with its methods and mounts, in the order in which they were added", () => {
      const items = express.Router().get("/", ok).post("/", ok).delete("/:id", ok);
      const tenant = express.Router().use("/items", items);
      const app = express().get("/", ok).use("/t/:tenant", tenant);
      app.route("/orders").get(ok).put(ok);
      expect(shown(routesOf(app))).to.eql([
        "GET | /",
        "GET | /t/:tenant/items",
        "POST | /t/:tenant/items",
        "DELETE | /t/:tenant/items/:id",
        "GET | /orders",
        "PUT | /orders",
      ]);
    });

    it("returns one entry for each path of a list", () => {
      expect(shown(routesOf(express().get(["/a", "/b"], ok)))).to.eql(["GET | /a", "GET | /b"]);
    });

    it("returns one entry with the method * for app.all()", () => {
      const router = express.Router();
      router.all("/two", requireTenant(), ok);
      const app = express().all("/one", requireTenant(), ok).use(router);
      expect(shown(routesOf(app))).to.eql(["* | /one | tenant", "* | /two | tenant"]);
    });

    it("returns the handlers of each method of a route, without those of routers around it", () => {
      const app = express();
      const [first, second, third] = [requireTenant(), requireTenant(), requireTenant()];
      app.use(first);
      app.route("/a").get(second, third).post(third);
      expect(routesOf(app).map(({ method, handlers }) => [method, handlers])).to.deep.equal([
        ["GET", [second, third]],
        ["POST", [third]],
      ]);
    });

    it("returns the guards of each method of a route", () => {
      const app = express();
      app
        .route("/orders")
        .get(requireScopes("orders:read"), ok)
        .post(requireScopes("orders:write"), requireContentType("application/json"), ok);
      expect(shown(routesOf(app))).to.eql([
        "GET | /orders | scopes orders:read",
        "POST | /orders | scopes orders:write | content-type application/json",
      ]);
    });

    it("returns the guards added before a route, and omits guards added after it or for another path", () => {
      const reports = express.Router().get("/", ok);
      const app = express()
        .get("/open", ok)
        .use(requireTenant())
        .use("/admin", requireRoles("admin"))
        .use("/admin/reports", requireScopes("reports:read"), reports)
        .get("/admin/users", ok)
        .get("/:any", ok);
      expect(shown(routesOf(app))).to.eql([
        "GET | /open",
        "GET | /admin/reports | tenant | roles admin | scopes reports:read",
        "GET | /admin/users | tenant | roles admin",
        "GET | /:any | tenant",
      ]);
    });

    it("omits a guard whose mount path does not match every request of the route", () => {
      const app = express()
        .use("/v:version", requireScopes("a"))
        .use("/Upper", requireScopes("b"))
        .use("/:file.json", requireScopes("c"))
        .get("/admin", ok)
        .get("/upper", ok)
        .get("/data.json", ok);
      expect(shown(routesOf(app))).to.eql(["GET | /admin", "GET | /upper", "GET | /data.json"]);
    });

    it("omits a guard that is an error handler", () => {
      const guard = Object.assign((_err: unknown, _req: unknown, _res: unknown, next: () => void) => next(), {
        [Symbol.for("@svc/guard")]: { kind: "tenant", values: [] },
      });
      expect(shown(routesOf(express().use(guard).get("/", ok)))).to.eql(["GET | /"]);
    });

    it("returns the guards of a router below a mount path with a parameter", () => {
      const tenant = express.Router().use(requireTenant()).get("/items/:id", ok);
      expect(shown(routesOf(express().use("/t/:tenant", tenant)))).to.eql([
        "GET | /t/:tenant/items/:id | tenant",
      ]);
    });

    it("returns the routes of two mounted applications, each with its own mount path", () => {
      const billing = express().get("/invoices", ok);
      const admin = express().get("/users", ok);
      express().use("/billing", billing).use("/admin", admin);
      expect(shown([...routesOf(billing), ...routesOf(admin)])).to.eql([
        "GET | /billing/invoices",
        "GET | /admin/users",
      ]);
    });

    it("returns a guard once even if a route has it twice", () => {
      const guard = requireTenant();
      expect(shown(routesOf(express().use(guard).get("/", guard, ok)))).to.eql(["GET | / | tenant"]);
    });

    it("returns the routes of a router without an application", () => {
      expect(shown(routesOf(express.Router().get("/items/:id", ok)))).to.eql(["GET | /items/:id"]);
    });

    it("returns the routes of a mounted application with its mount path, but omits them from the parent's routes", () => {
      const inner = express().get("/items", ok);
      const outer = express().use("/shop", inner).get("/", ok);
      expect(shown(routesOf(inner))).to.eql(["GET | /shop/items"]);
      expect(shown(routesOf(outer))).to.eql(["GET | /"]);
    });

    it("returns routes that were added after an earlier call", () => {
      const app = express().get("/early", ok);
      routesOf(app);
      app.get("/late", ok);
      expect(shown(routesOf(app))).to.eql(["GET | /early", "GET | /late"]);
    });

    it("returns no routes for an application without routes", () => {
      expect(routesOf(express())).to.eql([]);
    });

    it("returns the routes of a router that contains itself", () => {
      const router = express.Router().get("/a", ok);
      router.use("/b", router);
      expect(shown(routesOf(express().use(router)))).to.eql(["GET | /a"]);
    });
  });
}

describe("routesOf", () => {
  it("throws a TypeError for a value that is neither an application nor a router", () => {
    const route = expressMajors["express 5"]().route("/");
    for (const value of [undefined, null, "app", {}, { stack: [null] }, ok, connect(), route]) {
      expect(() => routesOf(value)).to.throw(
        TypeError,
        "routesOf(app): app must be an Express application or router",
      );
    }
  });
});

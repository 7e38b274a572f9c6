import { requireContentType } from "@svc/json-body";
import { requireRoles, requireScopes } from "@svc/jwt-auth";
import { type Route, routesOf } from "@svc/route-template";
import { requireTenant } from "@svc/tenancy";
import { expressMajors } from "@svc/test-support";
import { expect } from "chai";

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

    it("returns the guards of a route under its method", () => {
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

    it("returns the guards that were added in front of a route, and no guard behind it or of another path", () => {
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

    it("returns a guard once that stands twice in front of a route", () => {
      const guard = requireTenant();
      expect(shown(routesOf(express().use(guard).get("/", guard, ok)))).to.eql(["GET | / | tenant"]);
    });

    it("returns the routes of a router alone", () => {
      expect(shown(routesOf(express.Router().get("/items/:id", ok)))).to.eql(["GET | /items/:id"]);
    });

    it("returns the routes of a mounted application with its mounts, and none of them from its parent", () => {
      const inner = express().get("/items", ok);
      const outer = express().use("/shop", inner).get("/", ok);
      expect(shown(routesOf(inner))).to.eql(["GET | /shop/items"]);
      expect(shown(routesOf(outer))).to.eql(["GET | /"]);
    });

    it("sees routes that were added after an earlier call", () => {
      const app = express().get("/early", ok);
      routesOf(app);
      app.get("/late", ok);
      expect(shown(routesOf(app))).to.eql(["GET | /early", "GET | /late"]);
    });

    it("returns no routes for an application without any", () => {
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
  it("throws a TypeError for a value that is no application and no router", () => {
    for (const value of [undefined, null, "app", {}, ok]) {
      expect(() => routesOf(value)).to.throw(
        TypeError,
        "routesOf(app): app must be an application or a router",
      );
    }
  });
});

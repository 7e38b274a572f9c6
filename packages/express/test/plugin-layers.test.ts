import type { Middleware } from "@svc/context";
import { definePlugin, type PluginParts } from "@svc/plugin";
import { forbidden } from "@svc/problem";
import { expect } from "chai";
import request from "supertest";
import { onBothMajors } from "./support/majors.ts";
import { startService, type TestService } from "./support/test-service.ts";

const guarded = `
[plugins]
enabled = ["tenancy", "own"]
[plugin.tenancy]
sources = ["header"]
require_tenant = true
`;
const withoutTenants = '[plugins]\nenabled = ["own"]';

describe("the middleware and routes of a custom plugin", () => {
  onBothMajors((express) => {
    function serviceWith(parts: PluginParts, toml = withoutTenants): Promise<TestService> {
      const own = definePlugin({ name: "own", start: () => parts });
      return startService({
        app: express(),
        toml,
        plugins: { own },
        routes: (app) => app.post("/orders", (_req, res) => res.json({})),
      });
    }

    it("leave the layers behind them in place if the middleware passes null", async () => {
      const edge: Middleware = (_req, _res, next) => next(null);
      await using test = await serviceWith({ edge }, guarded);
      const { status, headers } = await request(test.url).post("/orders").send({ a: 1 });
      expect([status, headers["x-content-type-options"]]).to.deep.equal([403, "nosniff"]);
    });

    for (const slot of ["edge", "identity", "admission", "behindBody", "page"] as const) {
      it(`fail only the request if the middleware in ${slot} throws or rejects`, async () => {
        const throws: Middleware = () => {
          throw forbidden("a key is needed");
        };
        const rejects = (async () => {
          await Promise.resolve();
          throw forbidden("a key is needed");
        }) as Middleware;
        for (const layer of [throws, rejects]) {
          await using test = await serviceWith({ [slot]: layer });
          for (const body of [undefined, { a: 1 }]) {
            const answer = await request(test.url).post("/orders").send(body);
            expect([answer.status, (answer.body as { detail?: string }).detail]).to.deep.equal([
              403,
              "a key is needed",
            ]);
          }
        }
      });
    }

    it("fail only the request if the handler of a route rejects", async () => {
      const handler = (async () => {
        await Promise.resolve();
        throw new Error("no report");
      }) as Middleware;
      await using test = await serviceWith({ routes: [{ path: "/internal", handler }] });
      expect((await request(test.url).get("/internal")).status).to.equal(500);
      expect((await request(test.url).get("/health")).status).to.equal(200);
    });

    it("keep the limits of the service if hasOwnLimits() throws, and log the error", async () => {
      function hasOwnLimits(): boolean {
        throw new Error("no limits");
      }
      await using test = await serviceWith({ hasOwnLimits });
      expect((await request(test.url).post("/orders").send({})).status).to.equal(200);
      const line = await test.line(({ level }) => level === "error");
      expect(line["message"]).to.equal("hasOwnLimits() of a plugin threw; the limits of the service apply");
    });

    it("EDGE-3 accept only the hosts in trusted_hosts, unless the route says that it is called by address", async () => {
      const handler: Middleware = (_req, res) => void res.end("ok");
      const routes = [
        { path: "/internal", handler },
        { path: "/scraped", handler, calledByAddress: true },
      ];
      const toml = 'trusted_hosts = ["api.example.com"]\n[plugins]\nenabled = ["metrics", "openapi", "own"]';
      await using test = await serviceWith({ routes }, toml);
      for (const [path, expected] of [
        ["/internal", 400],
        ["/openapi.json", 400],
        ["/docs", 400],
        ["/scraped", 200],
        ["/metrics", 200],
        ["/ready", 200],
      ] as const) {
        expect((await request(test.url).get(path).set("Host", "evil.test")).status, path).to.equal(expected);
      }
    });
  });
});

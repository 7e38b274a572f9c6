import { tenancy } from "@svc/tenancy";
import { listen, type Listening } from "@svc/test-support";
import { expect } from "chai";
import { ask } from "./support/ask.ts";
import { report, stacks, verified } from "./support/stacks.ts";

const exempt = [
  "GET /health",
  "HEAD /health",
  "GET /health?full=1",
  "GET /ready",
  "GET /info",
  "GET /metrics",
  "GET /docs",
  "GET /docs/docs.css",
  "GET /docs/docs.js",
  "GET /openapi.json",
  "GET /.well-known/jwks.json",
  "GET /.well-known/acme-challenge/abc-_x",
  "POST /auth/refresh",
  "GET /auth/google/start",
  "GET /auth/google/start?return_to=/x",
  "GET /auth/my-provider_1/callback?code=1&state=2",
  "GET /about",
  "POST /hooks/stripe",
  "GET /public/a/b.css",
];

const guarded = [
  "GET /",
  "GET /orders",
  "GET /information",
  "GET /info/customers",
  "GET /health/",
  "GET /health/live",
  "GET //health",
  "GET /./health",
  "GET /x/../health",
  "GET /orders/health",
  "GET /Health",
  "GET /HEALTH",
  "GET /health%20",
  "GET /health%2f",
  "GET /%68ealth",
  "GET /health;x",
  "GET /health#/orders",
  "GET /orders?/health",
  "GET /orders#/health",
  "GET /healthz",
  "GET /ready.json",
  "GET /docs/",
  "GET /docs/42",
  "GET /docs/docs.css/42",
  "GET /docs/docs.json",
  "GET /openapi.jsonx",
  "GET http://example.com/health",
  "GET *health",
  "GET /.well-known",
  "GET /.well-known/",
  "GET /.well-known//orders",
  "GET /.well-known/../orders",
  "GET /.well-known/x/../../orders",
  "GET /.well-known/..%2forders",
  "GET /.well-known/%2e%2e/orders",
  "GET /.well-known\\orders",
  "GET /.well-knownx/a",
  "GET /auth/refresh",
  "PUT /auth/refresh",
  "POST /auth/refresh/",
  "POST /auth/refresh/x",
  "GET /auth/start",
  "GET /auth//start",
  "GET /auth/a/b/start",
  "GET /auth/a%2fb/start",
  "GET /auth/../start",
  "GET /auth/google/start/x",
  "GET /auth/google/callback/",
  "GET /auth/google/stop",
  "GET /AUTH/google/start",
  "POST /auth/logout",
  "GET /hooks/stripe",
  "POST /hooks/stripe/x",
  "GET /public",
  "GET /public/",
];

for (const [stack, serve] of Object.entries(stacks)) {
  describe(`the exempt paths, on ${stack}`, () => {
    let server: Listening;
    before(async () => {
      const options = {
        baseDomain: "example.com",
        requireTenant: true,
        exemptPaths: ["/about", "POST /hooks/:name", "/public/*"],
      };
      server = await listen(serve([verified, tenancy(options)], report));
    });
    after(() => server[Symbol.asyncDispose]());

    for (const line of exempt) {
      it(`${line} needs no tenant (TEN-3, TEN-16)`, async () => {
        const [method = "", target = ""] = line.split(" ");
        const open = await ask(server.port, { method, target });
        expect([open.status, open.body["tenant"]]).to.eql([200, undefined]);
        // The path stays exempt when the host names a tenant, because probes are sent to a tenant's host as well.
        const named = await ask(server.port, { method, target, lines: ["Host: globex.example.com"] });
        expect([named.status, named.body["tenant"]]).to.eql([200, undefined]);
      });
    }

    for (const line of guarded) {
      it(`${line} needs a tenant (TEN-3, TEN-16)`, async () => {
        const [method = "", target = ""] = line.split(" ");
        expect((await ask(server.port, { method, target, caller: {} })).status).to.equal(403);
        expect((await ask(server.port, { method, target, caller: { tenant: "acme" } })).status).to.equal(200);
      });
    }
  });
}

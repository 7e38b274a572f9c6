import { rawRequest, type RunningSample, signToken } from "@svc/test-support";
import { expect } from "chai";
import { sessions, toSessions } from "./session-expectations.ts";
import { bearer, eventually, get, linesOf, post, problem, unauthorized } from "./sample-requests.ts";
import {
  collector,
  discoveredIssuer,
  type Expectation,
  issuer,
  issuerFile,
  issuerToken,
  ordersTable,
  sharedSecret,
  type Surroundings,
} from "./sample-surroundings.ts";

const json = { headers: { "Content-Type": "application/json" } };
const form = { headers: { "Content-Type": "application/x-www-form-urlencoded" } };

const adopt: readonly Expectation[] = [
  {
    shows: "respond with text and with 500 for a malformed body before any change",
    async check(sample) {
      expect((await get(sample, "/orders/1")).status).to.equal(200);
      expect(await (await get(sample, "/orders/7")).text()).to.equal("not found");
      expect((await post(sample, "/orders", "{")).status).to.equal(500);
    },
  },
  {
    shows: "COR-1 provide the request id in the request object and in nested calls",
    async check(sample) {
      const answer = await get(sample, "/orders/1", { "X-Request-ID": "r-1" });
      expect(answer.headers.get("X-Request-ID")).to.equal("r-1");
      expect(await answer.json()).to.deep.equal({ id: "1", seen: ["r-1", "r-1"] });
    },
  },
  {
    shows:
      "ERR-10 ERR-21 send problems for a missing resource, an unsupported method, malformed JSON and a request that Node rejects",
    async check(sample) {
      await problem(await get(sample, "/orders/7"), 404, "there is no order 7");
      await problem(await post(sample, "/orders/1", "{}"), 405);
      await problem(await post(sample, "/", "{"), 400);
      const refused = await rawRequest(Number(new URL(await sample.url).port), "GET / HTTP/1.1\r\n\r\n");
      expect(refused.headers["content-type"]).to.equal("application/problem+json");
    },
  },
  {
    shows: "LOG-1 LOG-3 write two log lines with the same request id",
    async check(sample) {
      await get(sample, "/orders/1", { "X-Request-ID": "r-1" });
      await eventually(() => sample.stdout().split("\n").length === 3);
      const lines = linesOf(sample);
      expect(lines.map(({ message, request_id }) => [message, request_id])).to.deep.equal([
        ["looked up", "r-1"],
        ["request", "r-1"],
      ]);
    },
  },
  {
    shows: "LIM-1 ERR-18 reject bodies that are too long, of the wrong type or with __proto__",
    async check(sample) {
      expect(await (await post(sample, "/orders", '{"id":"2"}')).json()).to.deep.equal({ id: "2" });
      await problem(await post(sample, "/orders", '{"__proto__":{}}'), 400);
      await problem(await post(sample, "/orders", "id=2", "application/x-www-form-urlencoded"), 415);
      for (const init of [{}, json]) {
        const answer = await fetch(`${await sample.url}/orders`, { method: "POST", ...init });
        expect([answer.status, await answer.json()]).to.deep.equal([201, {}]);
      }
      await problem(await post(sample, "/orders", `"${"x".repeat(2_097_152)}"`), 413);
    },
  },
  {
    shows: "MET-3 count requests by route",
    async check(sample) {
      await get(sample, "/orders/1");
      const line = 'http_requests_total{method="GET",endpoint="/orders/:id",status="200"} 1';
      expect(await (await get(sample, "/metrics")).text()).to.include(line);
    },
  },
  {
    shows: "RDY-4 SYS-6 report liveness, and readiness as degraded",
    async check(sample) {
      expect((await get(sample, "/health")).status).to.equal(200);
      const ready = await get(sample, "/ready");
      expect([ready.status, ((await ready.json()) as { status: string }).status]).to.deep.equal([
        200,
        "degraded",
      ]);
      expect((await get(sample, "/info")).status).to.equal(404);
    },
  },
  {
    shows: "RDY-20 report not ready after SIGTERM, and still serve requests",
    async check(sample) {
      expect((await get(sample, "/ready")).status).to.equal(200);
      sample.kill("SIGTERM");
      await eventually(async () => (await get(sample, "/ready")).status === 503);
      expect((await get(sample, "/orders/1")).headers.get("Connection")).to.equal("close");
    },
  },
  {
    shows: "respond with 503 while the database is down",
    env: { DATABASE_URL: "postgres://app@127.0.0.1:9/app" },
    async check(sample) {
      const answer = await get(sample, "/orders/1");
      expect(answer.headers.get("Retry-After")).to.match(/^\d+$/);
      await problem(answer, 503);
    },
  },
  {
    shows: "AUTH-1 AUTH-12 AUTH-15 accept tokens in addition to a session that sets req.user",
    env: { TOKEN_SECRET: sharedSecret },
    async check(sample) {
      const session = { "X-Session": "s-1" };
      const token = (claims: object): Record<string, string> =>
        bearer(signToken({ sub: "ada", aud: "orders", ...claims }, sharedSecret));
      const named = async (headers: Record<string, string>): Promise<unknown> =>
        (await get(sample, "/orders", headers)).json();
      expect(await named(session)).to.deep.equal({ for: "ann" });
      expect(await named(token({}))).to.deep.equal({ for: "ada" });
      expect(await named({ ...session, ...token({}) })).to.deep.equal({ for: "ann" });
      expect(await named({ ...session, ...bearer("no token") })).to.deep.equal({ for: "ann" });
      expect((await get(sample, "/orders", token({ aud: "other" }))).status).to.equal(401);
      const exported = await get(sample, "/exports", token({ scope: "orders:export" }));
      expect(await exported.json()).to.deep.equal({ for: "ada" });
      await unauthorized(await get(sample, "/exports", session));
      await problem(await get(sample, "/exports", token({})), 403, "missing scope(s): orders:export");
    },
  },
  {
    shows: "TEN-4 TEN-6 TEN-10 use the tenant of the session",
    async check(sample) {
      const session = { "X-Session": "s-1" };
      for (const path of ["/orders", "/t/acme/orders"]) {
        expect(await (await get(sample, path, session)).json()).to.deep.equal({ of: "acme" });
        await unauthorized(await get(sample, path));
      }
      const detail = "this session is scoped to tenant 'acme', and the request names 'globex'";
      await problem(await get(sample, "/t/globex/orders", session), 403, detail);
      expect((await get(sample, "/about")).status).to.equal(200);
    },
  },
  {
    shows: "return the rows of one tenant, and no rows for a query without a tenant",
    database: true,
    around: ordersTable,
    async check(sample) {
      const rows = async (path: string, session: string): Promise<unknown> =>
        (await get(sample, path, { "X-Session": session })).json();
      expect(await rows("/orders", "s-1")).to.deep.equal([{ id: "a-1", total: 42 }]);
      expect(await rows("/orders", "s-2")).to.deep.equal([{ id: "g-1", total: 7 }]);
      expect(await rows("/forgotten", "s-1")).to.deep.equal([]);
      await unauthorized(await get(sample, "/orders"));
    },
  },
  ...sessions,
  {
    shows: "create the whole service from a configuration file",
    async check(sample) {
      for (const path of ["/orders/1", "/health", "/ready", "/info", "/metrics"]) {
        const answer = await get(sample, path);
        expect([path, answer.status, answer.headers.has("X-Request-ID")]).to.deep.equal([path, 200, true]);
      }
      await problem(await get(sample, "/nowhere"), 404);
    },
  },
  {
    shows: "parse bodies and send problems on Connect",
    async check(sample) {
      expect(await (await post(sample, "/echo", '{"a":1}')).json()).to.deep.equal({ a: 1 });
      await problem(await post(sample, "/echo", "{"), 400);
      await problem(await get(sample, "/nowhere"), 404);
    },
  },
  {
    shows: "parse bodies and send problems on a bare server",
    async check(sample) {
      const answer = await post(sample, "/echo", '{"a":1}', "application/json", { "X-Request-ID": "r-1" });
      expect(await answer.json()).to.deep.equal({ got: { a: 1 }, request_id: "r-1" });
      expect((await get(sample, "/health")).status).to.equal(200);
      await problem(await post(sample, "/echo", "{"), 400);
      await problem(await get(sample, "/nowhere"), 404);
    },
  },
];

const migrate: readonly Expectation[] = [
  {
    shows: "COR-1 replace express-request-id",
    async check(sample) {
      expect(await (await get(sample, "/", { "X-Request-ID": "r-1" })).text()).to.equal("r-1");
    },
  },
  {
    shows: "COR-1 replace cls-rtracer",
    async check(sample) {
      expect(await (await get(sample, "/", { "X-Request-ID": "r-1" })).text()).to.equal("r-1");
    },
  },
  { shows: "LOG-3 write log lines with accessLog()", check: twoLines },
  { shows: "LOG-3 write the lines of accessLog() with pino-http", check: twoLines },
  {
    shows: "MET-3 count requests by route template instead of express-prom-bundle",
    async check(sample) {
      await get(sample, "/items/7");
      await get(sample, "/nowhere");
      const page = await (await get(sample, "/metrics")).text();
      expect(page).to.include('http_requests_total{method="GET",endpoint="/items/:id",status="200"} 1');
      expect(page).to.include('http_requests_total{method="GET",endpoint="<unmatched>",status="404"} 1');
      expect(page).to.include('le="0.003"').and.include("service_info{");
    },
  },
  {
    shows: "TRACE-7 TRACE-27 send one span per request instead of the automatic instrumentations",
    around: collector,
    async check(sample, around) {
      await (await get(sample, "/items/7")).text();
      sample.kill("SIGTERM");
      expect((await sample.ended).code).to.equal(0);
      expect(around?.spans?.()).to.deep.equal(["GET /items/:id"]);
    },
  },
  {
    shows: "HTTP-1 call a service with createClient() instead of axios or got",
    async check(sample) {
      await problem(await get(sample, "/invoices"), 503, "the service 'billing' is not answering");
    },
  },
  {
    shows: "pass requests on with gateway() instead of http-proxy-middleware",
    async check(sample) {
      const detail = "the service behind /billing is not answering";
      await problem(await get(sample, "/billing/invoices"), 503, detail);
      await problem(await get(sample, "/billing/..%2fadmin"), 400);
      expect((await get(sample, "/other")).status).to.equal(404);
    },
  },
  {
    shows: "RATE-1 RATE-2 limit requests with rateLimit() instead of express-rate-limit",
    async check(sample) {
      const answers = await Promise.all(Array.from({ length: 110 }, () => get(sample, "/")));
      const refused = answers.filter(({ status }) => status === 429);
      expect(refused.length).to.be.within(1, 10);
      await problem(refused[0] as Response, 429, "Rate limit of 100 request(s) per 60s exceeded.");
    },
  },
  {
    shows: "DOC-1 describe a route with describes() instead of swagger-jsdoc",
    async check(sample) {
      expect(await (await get(sample, "/items/7")).json()).to.deep.equal({ id: "7" });
      const { paths } = (await (await get(sample, "/openapi.json")).json()) as {
        paths: Record<string, { get: { summary: string } }>;
      };
      expect(paths["/items/{id}"]?.get.summary).to.equal("Returns an item");
    },
  },
  {
    shows: "ERR-15 validate requests with route() instead of express-openapi-validator",
    async check(sample) {
      expect((await post(sample, "/items", '{"name":"pen"}')).status).to.equal(201);
      await problem(await post(sample, "/items", '{"name":""}'), 422, "Request validation failed");
    },
  },
  {
    shows: "RDY-1 replace the health check and the shutdown of terminus",
    async check(sample) {
      const { status, checks } = (await (await get(sample, "/healthz")).json()) as Report;
      expect([status, checks["pool"]?.healthy]).to.deep.equal(["ok", true]);
      sample.kill("SIGTERM");
      const { code, stdout } = await sample.ended;
      expect(code).to.equal(0);
      expect(stdout).to.include("pool closed");
    },
  },
  {
    shows: "ERR-1 ERR-15 send http-errors as problems",
    async check(sample) {
      await problem(await get(sample, "/old/1"), 404, "no such item");
      const paid = await get(sample, "/paid");
      expect(paid.headers.get("Retry-After")).to.equal("5");
      await problem(paid, 503, "Service Unavailable");
      await eventually(() => sample.stderr().includes("ledger 7 is down"));
      await problem(await get(sample, "/items/1"), 404, "there is no item 1");
      await problem(await post(sample, "/items", "{}"), 422);
    },
  },
  {
    shows: "LIM-1 ERR-18 parse bodies instead of body-parser, and set an empty object where body-parser does",
    async check(sample) {
      const url = `${await sample.url}/orders`;
      const id = async (init: RequestInit): Promise<unknown> =>
        (await fetch(url, { method: "POST", ...init })).json();
      expect(await id({ ...json, body: '{"id":"7"}' })).to.deep.equal({ id: "7" });
      expect(await id({ ...form, body: "id=7" })).to.deep.equal({ id: "7" });
      const other = { headers: { "Content-Type": "application/octet-stream" }, body: "x" };
      for (const init of [
        {},
        json,
        { ...json, body: "" },
        { headers: { "Content-Type": "text/plain" } },
        other,
      ])
        expect(await id(init)).to.deep.equal({ id: "new" });
      await problem(await post(sample, "/orders", JSON.stringify(["x".repeat(200 * 1024)])), 413);
      await problem(await post(sample, "/orders", "{"), 400);
      expect(await (await post(sample, "/webhooks", "{ }")).json()).to.deep.equal({ bytes: 3 });
      await problem(await post(sample, "/webhooks", "x", "text/plain"), 415);
    },
  },
  {
    shows: "send the headers of helmet with pages and problems",
    async check(sample) {
      const missing = await get(sample, "/items");
      expect(missing.status).to.equal(404);
      for (const { headers } of [await get(sample, "/"), missing]) {
        expect(headers.get("Content-Security-Policy")).to.include("default-src 'self'");
        expect(headers.get("Strict-Transport-Security")).to.include("max-age");
      }
    },
  },
  {
    shows: "send the headers of helmet with the pages of createService(), and a stricter policy with data",
    async check(sample) {
      const [page, data] = [await get(sample, "/"), await get(sample, "/items")];
      expect(page.headers.get("Content-Security-Policy")).to.include("img-src 'self' https://images.example");
      expect(page.headers.get("X-Frame-Options")).to.equal("SAMEORIGIN");
      expect(data.headers.get("Content-Security-Policy")).to.include("default-src 'none'");
      expect(data.headers.get("X-Frame-Options")).to.equal("DENY");
      for (const { headers } of [page, data])
        expect(headers.has("Strict-Transport-Security")).to.equal(false);
    },
  },
  {
    shows: "COR-1 LOG-3 AUTH-15 run handlers that read req.id, req.log, req.auth and req.user",
    env: { TOKEN_SECRET: sharedSecret },
    async check(sample) {
      const headers = {
        ...bearer(signToken({ sub: "ada", aud: "orders" }, sharedSecret)),
        "X-Request-ID": "r-1",
      };
      const answer = await get(sample, "/orders", headers);
      expect(await answer.json()).to.deep.equal({ id: "r-1", caller: "ada", same: "ada" });
      await unauthorized(await get(sample, "/orders"));
      const [inside] = linesOf(sample);
      expect(inside).to.include({ message: "an old handler", request_id: "r-1", service: "orders" });
    },
  },
  {
    shows: "AUTH-11 AUTH-12 AUTH-14 protect the routes of express-jwt with requireAuth()",
    around: issuer,
    async check(sample) {
      const answer = await get(sample, "/orders", bearer(issuerToken()));
      expect(await answer.json()).to.deep.equal({ caller: "ada" });
      expect((await get(sample, "/about", bearer("no token"))).status).to.equal(200);
      const now = Math.floor(Date.now() / 1000);
      const refused = [
        { iss: "https://other.example" },
        { aud: "other" },
        { exp: now - 60 },
        { iat: now + 60 },
        { sub: undefined },
        { sub: 7 },
        { tenant_id: 7 },
        { typ: "refresh" },
      ];
      const bodies = new Set<string>();
      const id = { "X-Request-ID": "r-1" };
      for (const headers of [{}, ...refused.map((claims) => bearer(issuerToken(claims)))]) {
        const each = await get(sample, "/orders", { ...headers, ...id });
        bodies.add(await each.clone().text());
        await unauthorized(each);
      }
      expect(bodies.size).to.equal(1);
    },
  },
  {
    shows: "KEY-5 share the keys of a jwks-rsa client between old and new guards",
    around: issuer,
    check: twoGuards,
  },
  {
    shows: "AUTH-14 load the user of passport-jwt behind requireAuth()",
    around: issuer,
    async check(sample) {
      const answer = await get(sample, "/orders", bearer(issuerToken()));
      expect(await answer.json()).to.deep.equal({ caller: "Ada" });
      await unauthorized(await get(sample, "/orders", bearer(issuerToken({ sub: "gone" }))));
      await unauthorized(await get(sample, "/orders"));
    },
  },
  { shows: "KEY-5 share keys between passport-jwt and new guards", around: issuer, check: twoGuards },
  {
    shows: "AUTH-13 AUTH-15 ERR-13 check scopes and claims as express-oauth2-jwt-bearer does",
    around: discoveredIssuer,
    async check(sample, around) {
      const iss = around?.issuer;
      const reader = issuerToken({ iss, scope: "orders:read", department: "finance" });
      expect(await (await get(sample, "/orders", bearer(reader))).json()).to.deep.equal({ caller: "ada" });
      expect((await get(sample, "/reports", bearer(reader))).status).to.equal(200);
      const stranger = bearer(issuerToken({ iss }));
      const scopeless = await get(sample, "/orders", stranger);
      expect(await scopeless.clone().json()).to.deep.include({ missing_scopes: ["orders:read"] });
      expect(scopeless.headers.get("WWW-Authenticate")).to.equal(null);
      await problem(scopeless, 403, "missing scope(s): orders:read");
      await problem(await get(sample, "/reports", stranger), 403, "requires department finance");
      await unauthorized(await get(sample, "/orders"));
      await unauthorized(await get(sample, `/orders?access_token=${reader}`));
    },
  },
  {
    shows: "AUTH-2 verify the tokens of jsonwebtoken with a shared secret",
    env: { TOKEN_SECRET: sharedSecret },
    async check(sample) {
      const { token } = (await (await post(sample, "/sign-in", "{}")).json()) as { token: string };
      expect(await (await get(sample, "/orders", bearer(token))).json()).to.deep.equal({ caller: "ada" });
      const held = { aud: "orders" };
      for (const claims of [{ exp: undefined }, { sub: undefined, id: 7 }, { aud: "other" }]) {
        await unauthorized(
          await get(sample, "/orders", bearer(signToken({ ...held, ...claims }, sharedSecret))),
        );
      }
    },
  },
  {
    shows: "AUTH-2 verify tokens with the public key of an issuer",
    around: issuerFile,
    async check(sample) {
      const answer = await get(sample, "/orders", bearer(issuerToken()));
      expect(await answer.json()).to.deep.equal({ caller: "ada" });
      await unauthorized(await get(sample, "/orders", bearer(signToken({ aud: "orders" }, sharedSecret))));
    },
  },
  ...toSessions,
];

const errors: readonly Expectation[] = [
  {
    shows: "LIM-1 recognise an error by its code",
    async check(sample) {
      await problem(await post(sample, "/orders", `"${"x".repeat(2_097_152)}"`), 413);
      await eventually(() => sample.stdout().includes("a client sends large orders"));
    },
  },
];

const typescript: readonly Expectation[] = [
  {
    shows: "run as CommonJS in plain JavaScript",
    async check(sample) {
      expect((await get(sample, "/health")).status).to.equal(200);
      await problem(await get(sample, "/nowhere"), 404);
    },
  },
];

/** The pages of docs/, with the expected behaviour of each of their samples, in order. */
export const pages: Readonly<Record<string, readonly Expectation[]>> = {
  "adopt-one-package": adopt,
  migrate,
  errors,
  typescript,
  operate: [],
  architecture: [],
  contract: [],
};

interface Report {
  readonly status: string;
  readonly checks: Readonly<Record<string, { readonly healthy: boolean }>>;
}

async function twoLines(sample: RunningSample): Promise<void> {
  await get(sample, "/", { "X-Request-ID": "r-1" });
  await eventually(() => sample.stdout().split("\n").length === 3);
  const [inside, access] = linesOf(sample);
  expect(inside).to.include({ message: "inside", request_id: "r-1", service: "shop" });
  expect(access).to.include({ message: "request", request_id: "r-1", http_path: "/", http_status: 200 });
  const always = ["level", "time", "service", "env", "request_id", "message"];
  expect(access).to.have.all.keys([...always, "http_method", "http_path", "http_status", "duration_ms"]);
}

async function twoGuards(sample: RunningSample, around?: Surroundings): Promise<void> {
  for (const path of ["/v1/orders", "/v2/orders"]) {
    const answer = await get(sample, path, bearer(issuerToken()));
    expect([answer.status, await answer.text()]).to.deep.equal([200, '{"caller":"ada"}']);
    for (const headers of [{}, bearer("no token"), bearer(issuerToken({ aud: "other" }))]) {
      expect([path, (await get(sample, path, headers)).status]).to.deep.equal([path, 401]);
    }
  }
  expect(around?.fetches?.()).to.equal(1);
  await unauthorized(await get(sample, "/v2/orders"));
}

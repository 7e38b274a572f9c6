// The first calls of a consumer of each package. Copied next to an application that has only tarballs installed; `use` is
// require or import, and `express` is the major version installed there.
const assert = require("node:assert/strict");
const { createHmac } = require("node:crypto");
const { createServer } = require("node:http");
const { once } = require("node:events");

const cases = {
  async context({ use, app }) {
    const { currentContext, enterContext } = await use("@svc/context");
    app.use(enterContext);
    app.get("/", (req, res) => res.json({ current: currentContext() !== undefined }));
    return async (get) => assert.deepEqual(await (await get("/")).json(), { current: true });
  },
  async options({ use }) {
    const { ConfigurationError, integer, resolveOptions } = await use("@svc/options");
    assert.throws(() => resolveOptions("x()", { n: "1" }, { n: integer() }), ConfigurationError);
  },
  async resilience({ use }) {
    const { singleFlight } = await use("@svc/resilience");
    assert.equal(await singleFlight(async () => 7)(), 7);
  },
  async html({ use }) {
    const { markup } = await use("@svc/html");
    assert.equal(markup`<p>${"<b>"}</p>`.text, "<p>&lt;b&gt;</p>");
  },
  async sql({ use }) {
    const { identifier } = await use("@svc/sql");
    assert.equal(identifier("a"), '"a"');
  },
  async problem({ use, app }) {
    const { attachProblems, notFound, problemHandler } = await use("@svc/problem");
    assert.equal(typeof attachProblems, "function");
    app.use(notFound(), problemHandler());
    return async (get) => {
      const answer = await get("/nowhere");
      assert.equal(answer.status, 404);
      assert.equal(answer.headers.get("content-type"), "application/problem+json");
    };
  },
  async "request-id"({ use, app }) {
    const { requestId } = await use("@svc/request-id");
    app.use(requestId());
    app.get("/", (req, res) => res.json({}));
    return async (get) => assert.match((await get("/")).headers.get("x-request-id"), /^[0-9a-f]{32}$/);
  },
  async "json-body"({ use, app }) {
    const { jsonBody } = await use("@svc/json-body");
    app.use(jsonBody());
    app.post("/", (req, res) => res.json(req.body));
    return async (get) => {
      const sent = { method: "POST", headers: { "content-type": "application/json" }, body: '{"a":1}' };
      assert.deepEqual(await (await get("/", sent)).json(), { a: 1 });
    };
  },
  async log({ use, app }) {
    const { accessLog, createLogger } = await use("@svc/log");
    const lines = [];
    const logger = createLogger({
      service: "s",
      env: "local",
      destination: { write: (line) => lines.push(line) },
    });
    app.use(accessLog({ logger }));
    app.get("/", (req, res) => res.json({}));
    return async (get) => {
      await get("/");
      for (let i = 0; i < 100 && lines.length === 0; i++)
        await new Promise((resolve) => setTimeout(resolve, 10));
      assert.equal(JSON.parse(lines[0]).message, "request");
    };
  },
  async metrics({ use, app }) {
    const { metrics } = await use("@svc/metrics");
    const middleware = metrics();
    app.use(middleware);
    app.get("/metrics", middleware.handler);
    return async (get) => {
      await get("/nowhere");
      assert.match(await (await get("/metrics")).text(), /http_requests_total\{/);
      await middleware.stop();
    };
  },
  async telemetry({ use, app }) {
    const { telemetry } = await use("@svc/telemetry");
    const tracing = telemetry({ service: "s" });
    app.use(tracing);
    app.get("/", (req, res) => res.json({ exporting: tracing.exporting }));
    await assert.rejects(
      telemetry({ service: "s", exporter: "memory" }).ready,
      /npm install @opentelemetry\/api/,
    );
    return async (get) => assert.deepEqual(await (await get("/")).json(), { exporting: false });
  },
  async "http-client"({ use, app }) {
    const { createClient } = await use("@svc/http-client");
    app.get("/", (_req, res) => res.json({ called: true }));
    return async (get) => {
      const { url } = await get("/");
      const client = createClient({ name: "own", baseUrl: new URL(url).origin });
      assert.deepEqual((await client.get("/")).json(), { called: true });
      await client.stop();
    };
  },
  async gateway({ use, app }) {
    const { gateway } = await use("@svc/gateway");
    const target = createServer((req, res) => res.end(`behind ${req.url}`)).listen(0, "127.0.0.1");
    await once(target, "listening");
    const proxy = gateway({
      routes: [{ prefix: "/api", targets: [`http://127.0.0.1:${target.address().port}`] }],
    });
    app.use(proxy);
    return async (get) => {
      assert.equal(await (await get("/api/a")).text(), "behind /api/a");
      await proxy.stop();
      target.close();
    };
  },
  async openapi({ use, app }) {
    const { openapi, route } = await use("@svc/openapi");
    app.use(openapi());
    app.use(route({ method: "GET", path: "/pens/:id" }, (_valid, _req, res) => res.json({ found: true })));
    return async (get) => {
      assert.deepEqual(await (await get("/pens/7")).json(), { found: true });
      assert.deepEqual(Object.keys((await (await get("/openapi.json")).json()).paths), ["/pens/{id}"]);
    };
  },
  async "rate-limit"({ use, app }) {
    const { rateLimit } = await use("@svc/rate-limit");
    app.use(rateLimit({ limit: 1 }));
    app.get("/", (_req, res) => res.end("admitted"));
    return async (get) => {
      assert.equal((await get("/")).status, 200);
      assert.equal((await get("/")).status, 429);
    };
  },
  async "load-test"({ use }) {
    assert.equal(typeof (await use("@svc/load-test")).loadTest, "function");
  },
  async health({ use, app }) {
    const { health } = await use("@svc/health");
    app.use(health({ service: "s", version: "1", env: "local" }));
    return async (get) => assert.equal((await (await get("/health")).json()).status, "ok");
  },
  async config({ use }) {
    const { loadConfig } = await use("@svc/config");
    assert.equal(typeof loadConfig, "function");
  },
  async database({ use }) {
    const { createDatabase } = await use("@svc/database");
    const database = createDatabase({ url: "postgres://localhost:1/none" });
    assert.equal(database.readiness().name, "database");
    await database.stop();
  },
  async "jwt-auth"({ use, app }) {
    const { jwtAuth, principalOf, requireAuth } = await use("@svc/jwt-auth");
    const secret = "0123456789abcdef0123456789abcdef";
    app.use(jwtAuth({ mode: "secret", algorithms: ["HS256"], secret, audience: "consumer" }));
    app.use(requireAuth());
    app.get("/", (req, res) => res.json({ caller: principalOf(req).subject }));
    return async (get) => {
      assert.equal((await get("/")).status, 401);
      const headers = { authorization: `Bearer ${hs256(secret, { sub: "ann", aud: "consumer" })}` };
      assert.deepEqual(await (await get("/", { headers })).json(), { caller: "ann" });
    };
  },
  async tenancy({ use, app }) {
    const { requireTenant, tenancy, tenantOf } = await use("@svc/tenancy");
    app.use(
      tenancy({
        sources: ["subdomain"],
        baseDomain: "example.com",
        auth: false,
        hostOf: () => "acme.example.com",
      }),
    );
    app.use(requireTenant());
    app.get("/", (req, res) => res.json({ tenant: tenantOf(req) }));
    return async (get) => assert.deepEqual(await (await get("/")).json(), { tenant: "acme" });
  },
  async cache({ use }) {
    const { createCache } = await use("@svc/cache");
    const cache = createCache({ url: "redis://127.0.0.1:1" });
    assert.equal(cache.readiness().name, "cache");
    await cache.stop();
  },
  async "token-store"({ use }) {
    const { createMemoryTokenStore } = await use("@svc/token-store");
    const store = createMemoryTokenStore();
    store.revokeFamily("f", 60);
    assert.equal(store.isRevoked({ jti: "t", fam: "f", sub: "ann", signedInAt: 0 }), true);
    const { tokenStoreCases } = await use("@svc/token-store/testing");
    assert.equal(typeof tokenStoreCases, "function");
    for (const entry of ["redis", "postgres"]) assert.ok(await use(`@svc/token-store/${entry}`));
  },
  async "job-table"({ use }) {
    const { createJobTable, createWorker } = await use("@svc/job-table");
    const asked = [];
    const db = {
      async query(text) {
        asked.push(text);
        return { rows: [{ id: "1" }], rowCount: 1 };
      },
    };
    const table = createJobTable({ db, name: "jobs" });
    await table.enqueue({ task: "greet", id: "1" });
    assert.match(asked.join(" "), /insert into "jobs"/i);
    assert.throws(() => createWorker({ table, handlers: {}, concurrency: 0 }), /concurrency/);
  },
  async events({ use }) {
    const { createEvents, createInbox } = await use("@svc/events");
    const { createJobTable } = await use("@svc/job-table");
    const asked = [];
    const db = {
      async query(text) {
        asked.push(text);
        return { rows: [{ id: "1" }], rowCount: 1 };
      },
    };
    const subscribers = { "order.paid": { audit() {} } };
    const events = createEvents({ source: "shop", table: createJobTable({ db }), subscribers });
    assert.deepEqual(Object.keys(events.handlers), ["order.paid->audit"]);
    await assert.rejects(events.publish({ type: "order.lost", data: {} }), /order\.lost/);
    assert.equal((await createInbox().once(db, "audit", "1", () => 7)).value, 7);
    const { eventBusCases } = await use("@svc/events/testing");
    assert.equal(typeof eventBusCases, "function");
  },
  async plugin({ use }) {
    const { definePlugin } = await use("@svc/plugin");
    const { name, needs } = definePlugin({ name: "clock", start: () => ({}) });
    if (name !== "clock" || needs.length !== 0) throw new Error("the plugin has a wrong form");
  },

  async redis({ use }) {
    const { createRedis } = await use("@svc/redis");
    const redis = createRedis({ url: "redis://127.0.0.1:1" });
    assert.equal(redis.readiness().name, "redis");
    await redis.stop();
  },
  async "cli-options"({ use }) {
    const { defineCommandLine, wholeNumber } = await use("@svc/cli-options");
    const commands = { show: { meaning: "prints" } };
    const settings = { limit: { value: "N", read: wholeNumber(1, 9), meaning: "how many" } };
    const about = { name: "notes", code: "ERR_NOTES_USAGE", about: "Notes.", exitCodes: "0" };
    const commandLine = defineCommandLine({ ...about, commands, settings });
    assert.equal(commandLine.parse(["show", "--limit", "3"]).limit, 3);
    assert.throws(() => commandLine.parse(["show", "--limt", "3"]), /did you mean --limit/);
  },
  async "route-template"({ use, app }) {
    const { routesOf } = await use("@svc/route-template");
    app.get("/items/:id", (_req, res) => res.end());
    const [{ method, path, guards }] = routesOf(app);
    assert.deepEqual([method, path, guards], ["GET", "/items/:id", []]);
  },
  async scheduler({ use }) {
    const { createScheduler } = await use("@svc/scheduler");
    const { createJobTable } = await use("@svc/job-table");
    const table = createJobTable({ db: { query: async () => ({ rows: [], rowCount: 0 }) } });
    const schedules = { nightly: { cron: "30 2 * * *", zone: "Europe/Berlin", task: "prune" } };
    const [next] = createScheduler({ table, schedules }).nextTicks();
    assert.equal(next.task, "prune");
    assert.throws(() => createScheduler({ table, schedules: { bad: { cron: "x", task: "y" } } }), /bad/);
  },
  async rollups({ use }) {
    const { defineRollup } = await use("@svc/rollups");
    const definition = {
      name: "spending",
      source: { table: "expenses", tenantColumn: "tenant_id", timeColumn: "spent_at" },
      groupBy: { category: { column: "category" } },
      measures: { total: { sql: "sum(amount)", type: "numeric" } },
      timeZone: "Europe/Berlin",
    };
    const rollup = defineRollup(definition);
    assert.match(rollup.ddl(), /create table/);
    await assert.rejects(rollup.refresh({ query() {} }, { tenant: "a", at: "2026-01-01" }), /offset/);
    assert.throws(() => defineRollup({ ...definition, name: "a b" }), /name/);
  },
  async "search-store"({ use }) {
    const { createSearchStore } = await use("@svc/search-store");
    const db = { query: async () => ({ rows: [], rowCount: 0 }) };
    const store = createSearchStore({ db, dimensions: 3 });
    assert.equal(store.readiness().critical, false);
    await assert.rejects(store.search("", { vector: [1, 0, 0] }), /tenant/);
    await assert.rejects(store.search("a", { vector: [1, 0] }), /3/);
    const { openEmbedded } = await use("@svc/search-store/pglite");
    await assert.rejects(openEmbedded(), /npm install @electric-sql\/pglite/);
  },
  async "token-issuer"({ use, app }) {
    const { authRoutes, createKeyRing, createTokenIssuer } = await use("@svc/token-issuer");
    const keys = createKeyRing({ secret: "0123456789abcdef0123456789abcdef" });
    const store = {
      isRevoked: () => false,
      revoke() {},
      revokeFamily() {},
      revokeSubject() {},
      rotate: () => "rotated",
    };
    const issuer = createTokenIssuer({ keys, store, env: "local" });
    app.use(authRoutes(issuer));
    const pair = await issuer.issuePair({ subject: "ann" });
    return async (get) => {
      const body = JSON.stringify({ refresh_token: pair.refresh_token });
      const headers = { "content-type": "application/json" };
      assert.equal((await get("/auth/refresh", { method: "POST", headers, body })).status, 200);
    };
  },
  async "oidc-login"({ use, app }) {
    const { oidcLogin } = await use("@svc/oidc-login");
    const google = {
      clientId: "id",
      clientSecret: "secret",
      redirectUri: "https://a.example/auth/google/callback",
    };
    const login = oidcLogin({
      providers: { google },
      cookieSecret: "0123456789abcdef0123456789abcdef",
      onIdentity: () => ({}),
    });
    app.use(login);
    return async (get) => {
      const answer = await get("/auth/google/start", { redirect: "manual" });
      assert.equal(answer.status, 302);
      assert.match(answer.headers.get("location"), /^https:\/\/accounts\.google\.com\//);
      await login.stop();
    };
  },
  async conformance({ use }) {
    const { checkConformance } = await use("@svc/conformance");
    assert.equal(typeof checkConformance, "function");
  },
  async express({ use }) {
    const { createService } = await use("@svc/express");
    assert.equal(typeof createService, "function");
  },
};

// Packages that do not need Express must also work on a bare server.
const onBareHttp = ["request-id", "problem", "json-body", "health", "tenancy"];

exports.run = async function run(use, names) {
  const express = (await use("express")).default ?? (await use("express"));
  for (const name of names) {
    await exercise(name, use, express());
    if (onBareHttp.includes(name)) await exercise(name, use, bareApp());
    console.log(`${name}: ok`);
  }
};

async function exercise(name, use, app) {
  const check = await cases[name]({ use, app });
  if (check === undefined) return;
  const server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    await check((path, init) => fetch(`http://127.0.0.1:${server.address().port}${path}`, init));
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

function hs256(secret, claims) {
  const now = Math.floor(Date.now() / 1000);
  const parts = [{ alg: "HS256" }, { iat: now, exp: now + 60, ...claims }];
  const input = parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  return `${input}.${createHmac("sha256", secret).update(input).digest("base64url")}`;
}

/** Returns an application on node:http alone, with only the methods that these cases use. */
function bareApp() {
  const layers = [];
  const app = (req, res) => {
    let index = 0;
    const next = (error) => {
      const layer = layers[index++];
      if (layer === undefined) return res.writeHead(404).end();
      if (error !== undefined) return layer.length === 4 ? layer(error, req, res, next) : next(error);
      return layer.length === 4 ? next() : layer(req, res, next);
    };
    next();
  };
  const json = (handler) => (req, res) => {
    res.json = (value) => res.setHeader("content-type", "application/json").end(JSON.stringify(value));
    handler(req, res);
  };
  app.use = (...more) => layers.push(...more);
  app.get = (path, handler) => layers.push(json(handler));
  app.post = (path, handler) => layers.push(json(handler));
  return app;
}

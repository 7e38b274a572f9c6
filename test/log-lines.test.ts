import { globSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createCache } from "@svc/cache";
import { type Logger, openContext } from "@svc/context";
import { createDatabase } from "@svc/database";
import { createBusConsumer, createEvents } from "@svc/events";
import { serve } from "@svc/express";
import { health } from "@svc/health";
import { gateway } from "@svc/gateway";
import { createClient } from "@svc/http-client";
import { jsonBody } from "@svc/json-body";
import { createJobTable, createWorker } from "@svc/job-table";
import { jwtAuth } from "@svc/jwt-auth";
import { createLogger } from "@svc/log";
import { oidcLogin } from "@svc/oidc-login";
import { openapi, route } from "@svc/openapi";
import { attachProblems, problemHandler } from "@svc/problem";
import { rateLimit } from "@svc/rate-limit";
import { createRedis } from "@svc/redis";
import { createScheduler } from "@svc/scheduler";
import { createVerifier, defineRollup } from "@svc/rollups";
import { createLazyStore, createMaintenance, createSearchStore } from "@svc/search-store";
import { listen, memberNames, rawRequest, repeatedNames, until } from "@svc/test-support";
import { telemetry } from "@svc/telemetry";
import { tenancy } from "@svc/tenancy";
import { createKeyRing, createTokenIssuer } from "@svc/token-issuer";
import { createMemoryTokenStore } from "@svc/token-store";
import { createPostgresTokenStore } from "@svc/token-store/postgres";
import { expect } from "chai";
import express from "express";
import fc from "fast-check";
import { z } from "zod";

const canary = "canary5ecr3t";
/** No server listens on this port. */
const closed = "http://127.0.0.1:9";
const words = ["authorization", "cookie", "set-cookie", "x-api-key"];
const levels = ["debug", "info", "warn", "error", "fatal"] as const;

/** One log call of a package. */
interface Call {
  readonly level: (typeof levels)[number];
  readonly fields: object;
  readonly message: string;
}

/** Makes a package log through `logger`, with `word` as every value that a client can choose. */
type Drive = (logger: Logger, word: string, logged: () => number) => unknown;

const away = (): Promise<never> => Promise.reject(new Error(`postgres://app:${canary}@db/x is away`));
const db = { query: away, connect: away };
const secret = "a secret of at least 32 bytes, for tests";

const drives: Readonly<Record<string, Drive>> = {
  async cache(logger, name, logged) {
    await using _cache = createCache({ url: `redis://:${canary}@127.0.0.1:1`, name, logger });
    await until("a line", () => logged() > 0);
  },
  async redis(logger, name, logged) {
    await using _redis = createRedis({ url: `redis://:${canary}@127.0.0.1:1`, name, logger });
    await until("a line", () => logged() > 0);
  },
  async database(logger, name) {
    const url = `postgres://app:${canary}@127.0.0.1:1/x`;
    await using database = createDatabase({ url, name, logger, breakerFailures: 1 });
    await database.query("select 1").catch(() => undefined);
    database.pool.emit("error", new Error(`password=${canary}`), {} as never);
  },
  async events(logger, word, logged) {
    const source = "shop";
    const onEvent = away as () => never;
    const events = createEvents({ source, table: createJobTable({ db }), logger, onEvent, subscribers: {} });
    await events.receive({ topic: word, id: word, key: null, body: `{"token":"${canary}"}` });
    const bus = { name: word, publish: away, consume: away } as never;
    const subscribed = { receive: away, topics: [word] };
    await using consumer = createBusConsumer({ bus, events: subscribed, group: word, logger });
    consumer.start();
    await until("its line", () => logged() > 2);
  },
  async express(logger, word) {
    const options = { host: "127.0.0.1", port: 0, drainDelaySeconds: 0, signals: false, logger };
    const serving = await serve((_req, res) => res.end(), options);
    serving.onStop("close", () =>
      Promise.reject(Object.assign(new Error(`password=${canary}`), { code: word })),
    );
    await serving.stop();
  },
  async openapi(logger, word, logged) {
    const responses = { 200: { body: z.strictObject({ token: z.string(), [word]: z.string().optional() }) } };
    const app = express();
    app.use(openapi({ logger }));
    app.use(
      route({ method: "GET", path: "/", responses }, (_valid, _req, res) =>
        res.json({ token: [canary], [word]: 1 }),
      ),
    );
    await using server = await listen(app);
    await fetch(server.url);
    await until("a line", () => logged() > 0);
  },
  async "rate-limit"(logger, word, logged) {
    await using redis = createRedis({ url: `redis://:${canary}@127.0.0.1:1`, name: "limits" });
    const app = express();
    app.use(rateLimit({ store: redis, key: () => word, logger }));
    await using server = await listen(app);
    await fetch(server.url);
    await until("a line", () => logged() > 0);
  },
  async gateway(logger) {
    await using proxy = gateway({ routes: [{ prefix: "/api", targets: [closed] }], logger });
    await using server = await listen((req, res) => proxy(req, res, () => res.end()));
    // Three failures pause a target.
    for (let n = 0; n < 3; n++) await fetch(`${server.url}/api/${canary}?token=${canary}`);
  },
  async "http-client"(logger, name) {
    const options = { name, baseUrl: closed, attempts: 1, breakerFailures: 1, logger };
    await using client = createClient(options);
    await client.get(`/${canary}`, { headers: { Authorization: canary } }).catch(() => undefined);
  },
  async health(logger, name) {
    const check = () => ({ healthy: false, detail: `password=${canary}` });
    const onChange = away as () => never;
    const checks = [{ name, critical: true, check }];
    await health({ service: "shop", version: "1", env: "local", logger, onChange, checks }).report();
  },
  async "job-table"(logger, task, logged) {
    const table = createJobTable({ db });
    const handlers = { [task]: () => undefined };
    const worker = createWorker({ table, handlers, logger, onEvent: away as () => never });
    worker.start();
    await until("a line", () => logged() > 0);
    await worker.stop();
  },
  async "json-body"(logger, word) {
    const parse = jsonBody({
      verify() {
        throw Object.assign(new TypeError(`password=${canary}`), { code: word });
      },
    });
    await using server = await listen((req, res) => {
      openContext(req).log = logger;
      parse(req, res, () => res.end());
    });
    await fetch(server.url, {
      method: "POST",
      body: canary,
      headers: { "Content-Type": "application/json" },
    });
  },
  async "jwt-auth"(logger) {
    const auth = jwtAuth({ keys: createKeyRing({ secret, env: "local" }), algorithms: ["HS256"], logger });
    await using server = await listen((req, res) => auth(req, res, () => res.end()));
    for (const value of ["Bearer a b", `Bearer ${canary}`, "Bearer"]) {
      await fetch(server.url, { headers: { authorization: value } });
    }
  },
  async "oidc-login"(logger, name) {
    const id = "https://id.example";
    const client = { clientId: "id", clientSecret: canary, redirectUri: "https://a.example/auth/callback" };
    const endpoints = { jwksUri: `${id}/k`, authorizationEndpoint: `${id}/a`, tokenEndpoint: `${id}/t` };
    const provider = { ...client, ...endpoints, issuer: id };
    await using login = oidcLogin({ providers: { [name]: provider }, cookieSecret: secret, logger });
    await using server = await listen((req, res) => login(req, res, () => res.end()));
    await fetch(`${server.url}/${name}/callback?state=${canary}&code=${canary}`);
  },
  async problem(logger, word) {
    const handle = problemHandler({ logger });
    const server = createServer((req, res) => {
      const error = new TypeError(`password=${canary}`, { cause: new Error(word) });
      handle(Object.assign(error, { code: word }), req, res, () => undefined);
    });
    attachProblems(server, { logger });
    await using listening = await listen(server);
    await fetch(listening.url);
    await rawRequest(listening.port, `GET / HTTP/9.9\r\n${word}: ${canary}\r\n\r\n`);
  },
  async rollups(logger, word) {
    const examples = [{ tenant: word, month: "2026-01-01" }];
    const running = { tenants: 1, buckets: 1, differing: 1, repaired: 0, examples };
    const query = async (text: string) => ({
      rows: text.startsWith("select running") ? [{ running }] : [],
      rowCount: 0,
    });
    const rollup = defineRollup({
      name: "totals",
      timeZone: "UTC",
      source: { table: "expenses", tenantColumn: "tenant_id", timeColumn: "paid_at" },
      measures: { n: { sql: "count(*)", type: "bigint" } },
    });
    const db = { query, connect: async () => ({ query, release: () => undefined }) } as never;
    const jobs = { enqueue: async () => undefined } as never;
    const verifier = createVerifier({ rollups: { totals: rollup }, db, jobs, logger });
    const round = new Date().toISOString();
    await verifier.handlers["rollups:verify-tenants"]?.({ rollup: "totals", round, turn: 1 }, {});
  },
  async scheduler(logger, name) {
    const table = createJobTable({ db });
    const schedules = { [name]: { everySeconds: 60, task: name } };
    const scheduler = createScheduler({ table, schedules, logger });
    scheduler.start();
    await scheduler.runDue().catch(() => undefined);
    await scheduler.stop();
  },
  async "search-store"(logger, word) {
    const query = async (text: string) =>
      /create index/i.test(text) ? away() : { rows: [{ locked: true }], rowCount: 1 };
    const connect = async () => ({ query, release: () => undefined });
    const options = { db: { query, connect } as never, dimensions: 3, logger, onEvent: away as () => never };
    await createSearchStore(options)
      .ensureTenantIndex(word)
      .catch(() => undefined);
    const create = () => createSearchStore({ db, dimensions: 3 });
    await createLazyStore({ create, db, logger }).prepare();
    await createMaintenance({ store: create, logger }).maintain();
  },
  async telemetry(logger, word) {
    await using tracing = telemetry({ service: "shop", exporter: "console", logger });
    await tracing.ready;
    const fail = (): never => {
      throw new Error(`password=${canary}`);
    };
    expect(() => tracing.span(word, "internal", { [word]: canary }, fail)).to.throw(canary);
  },
  tenancy(logger) {
    tenancy({ sources: ["header"], env: "prod", logger });
  },
  async "token-issuer"(logger) {
    const keys = createKeyRing({ secret, env: "local" });
    const issuer = createTokenIssuer({ keys, env: "local", store: createMemoryTokenStore(), logger });
    const pair = await issuer.issuePair({ subject: "ann" });
    await issuer.refresh(pair.access_token).catch(() => undefined);
    await issuer.refresh(`${pair.refresh_token}x`).catch(() => undefined);
  },
  async "token-store"(logger, name) {
    using memory = createMemoryTokenStore({ maxEntries: 10, name, logger });
    expect(() => {
      for (let i = 0; i < 11; i++) memory.revoke(`${canary}${i}`, Date.now() / 1000 + 60);
    }).to.throw("is full");
    const options = { db, name, logger, breakerFailures: 1, sweepEverySeconds: 0 };
    await using store = createPostgresTokenStore(options);
    await Promise.allSettled([store.revoke("a", 1)]);
  },
};

/** Creates a logger that records its calls. */
function recorder(): { readonly logger: Logger; readonly calls: Call[] } {
  const calls: Call[] = [];
  const write = (level: Call["level"]) => (fields: object, message?: string) =>
    void calls.push({ level, fields, message: String(message) });
  const [debug, info, warn, error, fatal] = levels.map(write) as [Write, Write, Write, Write, Write];
  return { logger: { debug, info, warn, error, fatal }, calls };
}

type Write = Logger["info"];

let written = "";
const destination = { write: (line: string): void => void (written += line) };
const realLogger = createLogger({ service: "shop", env: "local", level: "debug", destination });

/** Returns the line that the services' logger writes for a call. */
function lineOf({ level, fields, message }: Call): string {
  written = "";
  realLogger[level](fields, message);
  return written;
}

function expectLine(call: Call): Record<string, unknown> {
  const line = lineOf(call);
  expect(line.match(/\n/g)).to.have.lengthOf(1);
  const record = JSON.parse(line) as Record<string, unknown>;
  const given = Object.entries(call.fields).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  expect(memberNames(line), line).to.deep.equal(["level", "time", "service", "env", ...given, "message"]);
  expect(repeatedNames(line), line).to.deep.equal([]);
  expect(record).to.include({ level: call.level, service: "shop", env: "local" });
  expect(line).not.to.contain(canary);
  return record;
}

// Values of log fields, and their form in a log line.
const hostile: readonly (readonly [given: unknown, expected: unknown])[] = [
  ...[...words, "Authorization", "token", 'pass"word', "\\", "\ud800", "\u2028", "", null, 7].map(
    (same) => [same, same] as const,
  ),
  [`password=${canary}`, "password=[redacted]"],
  [`"token":"${canary}","message":"b"`, '"token":"[redacted]","message":"b"'],
  [`refused:\nBearer ${canary}`, "refused:\nBearer [redacted]"],
  [`postgres://app:${canary}@db/x`, "postgres://[redacted]@db/x"],
  [
    { at: "cookie", message: "kept", "x-api-key": canary },
    { at: "cookie", message: "kept", "x-api-key": "[redacted]" },
  ],
  [
    ["Set-Cookie", canary, "Host", "kept", "Cookie", [canary]],
    ["Set-Cookie", "[redacted]", "Host", "kept", "Cookie", "[redacted]"],
  ],
  [`{"at":"x-api-key","b":["cookie","${canary}"]}`, '{"at":"x-api-key","b":["cookie","[redacted]"]}'],
];

describe("the log lines of every package that logs", () => {
  const callsOf = new Map<string, readonly Call[]>();

  before(async () => {
    for (const [name, drive] of Object.entries(drives)) {
      for (const word of words) {
        const { logger, calls } = recorder();
        await drive(logger, word, () => calls.length);
        callsOf.set(name, [...(callsOf.get(name) ?? []), ...calls]);
      }
    }
  });

  for (const name of Object.keys(drives)) {
    it(`have each member once and no secret when ${name} logs (LOG-1, LOG-2)`, () => {
      const calls = callsOf.get(name) ?? [];
      expect(calls.length).to.be.at.least(words.length);
      for (const call of calls) expectLine(call);
    });
  }

  it("contain all fields and no secret for 10,000 calls with hostile values (LOG-1, LOG-2)", () => {
    const calls = [...callsOf.values()].flat();
    const value = fc.constantFrom(...hostile);
    fc.assert(
      fc.property(fc.constantFrom(...calls), fc.infiniteStream(value), fc.nat(3), (call, values, more) => {
        const names = [...Object.keys(call.fields), ...["at", "source", "reason"].slice(0, more)];
        const chosen = [...new Set(names)].map((name) => [name, ...values.next().value] as const);
        const fields = Object.fromEntries(chosen.map(([name, given]) => [name, given]));
        const record = expectLine({ ...call, fields });
        expect(record["message"]).to.equal(lineMessage(call));
        for (const [name, , expected] of chosen) expect(record[name], name).to.deep.equal(expected);
      }),
      { numRuns: 10_000 },
    );
  }).timeout(120_000);

  it("are tested for exactly the packages that call a logger", () => {
    const logs = /(?:\blog|\blogger|\))\??\.(?:debug|info|warn|error|fatal)\(|\[level\]\??\.?\(/;
    const packages = globSync("packages/*/src/**/*.ts")
      .filter((file) => logs.test(readFileSync(file, "utf8")))
      .map((file) => String(file.split("/")[1]));
    // Exclude the logger itself (log), and the code that only forwards calls to another logger.
    const others = ["context", "log", "resilience"];
    expect(new Set(packages.filter((name) => !others.includes(name)))).to.deep.equal(
      new Set(Object.keys(drives)),
    );
  });
});

// Returns the masked message of a log call. The unmasked message may contain a secret: health() logs the detail of a check.
function lineMessage(call: Call): unknown {
  return (JSON.parse(lineOf(call)) as { message: unknown }).message;
}

import { trace } from "@opentelemetry/api";
import type { Middleware } from "@svc/context";
import { createDatabase } from "@svc/database";
import { testDatabase } from "@svc/dev-services";
import type { Service } from "@svc/express";
import { signToken, until } from "@svc/test-support";
import {
  newCanaries,
  openOtlpReceiver,
  type OtlpReceiver,
  placesOf,
  type Written,
} from "@svc/test-support/otlp";
import { expect } from "chai";
import { randomBytes } from "node:crypto";
import request from "supertest";
import { canaryService } from "./support/canaries-service.ts";
import { startService, type TestServiceOptions } from "./support/test-service.ts";

const secret = randomBytes(32).toString("base64");
const canaries = newCanaries();
const token = signToken({ tenant_id: "acme", sub: "ann" }, secret);
const [, , signature = ""] = token.split(".");

const toml = (enabled: string, more = ""): string => `
[plugins]
enabled = ["observability", "metrics", "telemetry"${enabled}]
[plugin.telemetry]
record_sql_statement = true
${more}`;

const allPlugins = toml(
  ', "database", "queue", "events", "auth", "tenancy"',
  `
[plugin.database]
url = "\${DATABASE_URL}"
[plugin.queue]
name = "canary_jobs"
poll = 0.02
[plugin.events]
inbox_table = "canary_inbox"
[plugin.auth]
mode = "secret"
algorithms = ["HS256"]
[plugin.tenancy]
sources = ["token"]
`,
);

/** Returns the environment variables for an export to the receiver, with credentials. */
function exportTo(receiver: OtlpReceiver): Record<string, string> {
  const endpoint = new URL(receiver.url);
  endpoint.username = canaries.endpointUser;
  endpoint.password = canaries.endpointPassword;
  return {
    SVC_TELEMETRY_ENDPOINT: endpoint.href,
    SVC_TELEMETRY_HEADERS: JSON.stringify({ "X-Api-Key": canaries.exportHeader }),
  };
}

interface Running {
  readonly service: Service;
  readonly url: string;
  readonly lineWith: (...texts: readonly string[]) => Promise<string>;
}

/** Runs a service, and returns its log lines, its pages and its exported spans once it has stopped. */
async function writtenBy(
  receiver: OtlpReceiver,
  options: TestServiceOptions,
  use: (running: Running) => Promise<void>,
): Promise<Written> {
  const lines: string[] = [];
  const pages: Record<string, string> = {};
  {
    await using test = await startService({
      ...options,
      env: { ...exportTo(receiver), ...options.env },
      logDestination: { write: (line) => void lines.push(line) },
    });
    const { service, url } = test;
    const lineWith = (...texts: readonly string[]): Promise<string> =>
      until(`a line with ${texts.join()}`, () =>
        lines.find((line) => texts.every((text) => line.includes(text))),
      );
    await use({ service, url, lineWith });
    for (const path of ["/ready", "/metrics", "/info"]) pages[path] = (await request(url).get(path)).text;
  }
  return { bodies: receiver.bodies, lines, pages };
}

/** Sends a request for each canary that comes from a client, and calls each route that uses one. */
async function sendCanaries({ url, lineWith }: Running): Promise<void> {
  const get = (path: string): request.Test => request(url).get(path);
  const as = { Authorization: `Bearer ${token}` };
  const answers = [
    await get(`/${canaries.unmatchedPath}/of/nothing`),
    await get(`/items/${canaries.matchedParameter}?find=${canaries.query}`),
    await get("/items/1").set({ "X-Note": canaries.requestHeader, Cookie: `sid=${canaries.cookie}` }),
    await get("/items/1").set({ Authorization: `Bearer ${canaries.opaqueToken}` }),
    await get("/items/1").set({ ...as, "X-Tenant-ID": canaries.claimedTenant }),
    await get("/items/1").set({ "X-Tenant-ID": canaries.claimedTenant }),
    await request(url).post("/bodies").send({ note: canaries.jsonBody }),
    await request(url).post("/bodies").type("json").send(`{"note": ${canaries.malformedBody}`),
    await request(url).post("/bodies").type("form").send({ note: canaries.formBody }),
  ];
  const paths = [
    "parameter",
    "literal",
    "invalid-syntax",
    "duplicate-key",
    "wrapped",
    "error",
    "hook",
    "work",
  ];
  for (const path of paths) answers.push(await get(`/${path}`));
  const statuses = "404 200 200 200 200 200 200 400 415 200 200 500 500 500 500 200 200";
  expect(answers.map(({ status }) => status).join(" ")).to.equal(statuses);
  await lineWith("job is dead", '"task":"fail"');
  await lineWith("job done", '"task":"note.added->count"');
}

/** The places where a rule allows a value to be written. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  // LOG-3
  unmatchedPath: ["request: http_path"],
  matchedParameter: ["request: http_path"],
  // TEN-20
  claimedTenant: ["request: tenant_claimed"],
  // ERR-8: the exception is logged with its stack.
  invalidSyntax: ["a request failed: err.message", "a request failed: err.stack"],
  wrappedSqlError: ["a request failed: err.message", "a request failed: err.stack"],
  // TRACE-17: the message of an exception that is not from PostgreSQL is recorded.
  errorMessage: ["a request failed: err.message", "a request failed: err.stack", "export"],
  // The column `last_error` contains the same text.
  jobError: ["job is dead: reason"],
};

describe("canaries", function () {
  this.timeout(60_000);
  let receiver: OtlpReceiver;
  beforeEach(async () => (receiver = await openOtlpReceiver()));
  afterEach(() => receiver[Symbol.asyncDispose]());

  describe("in a service with all plugins", () => {
    const database = testDatabase({ name: "express-canaries" });

    it("TRACE-3 TRACE-15 TRACE-16 TRACE-24 occur in exports, pages and log lines only where a rule allows them", async () => {
      await using db = createDatabase({ url: database.url });
      await db.query("create table notes (note text primary key)");
      const env = { DATABASE_URL: database.url, SVC_AUTH_SECRET: secret };
      const options = { toml: allPlugins, env, ...canaryService(canaries) };
      const written = await writtenBy(receiver, options, sendCanaries);
      expect(placesOf({ ...canaries, token, signature }, written)).to.deep.equal(allowed);
      expect(new Set(Object.values(canaries))).to.have.property("size", 25);

      const [{ headers } = { headers: {} }] = receiver.requests;
      expect(headers).to.include({ "x-api-key": canaries.exportHeader });
      const credentials = `${canaries.endpointUser}:${canaries.endpointPassword}`;
      expect(headers).to.include({ authorization: `Basic ${Buffer.from(credentials).toString("base64")}` });
      const names = receiver.spans.map(({ name }) => name);
      expect(names).to.include.members([
        "GET",
        "GET /items/:id",
        "POST /bodies",
        "GET /work",
        "INSERT notes",
      ]);
      expect(names).to.include.members([
        "rag.search",
        "job fail",
        "job note.added->count",
        "event note.added",
      ]);
      const values = (name: string): readonly unknown[] =>
        receiver.spans.flatMap(({ attributes, events }) => [
          attributes[name],
          ...events.map((event) => event.attributes[name]),
        ]);
      expect(values("db.statement")).to.include("select note from notes where note <> ?");
      expect(values("error.type")).to.include.members(["22P02", "23505"]);
      expect(values("rag.hits")).to.include(2);
    });
  });

  it("TRACE-3 TRACE-15 TRACE-24 occur in no page and no log line while the export fails", async () => {
    receiver.behave("500");
    const written = await writtenBy(receiver, { toml: toml("") }, async ({ service: { telemetry } }) => {
      // A full batch is exported without delay.
      for (let made = 0; made < 512; made++) {
        telemetry?.span("call", "client", { [canaries.unknownAttribute]: 1 }, () => undefined);
      }
      await until("the failed export", () => telemetry?.counts().failing);
    });
    expect(written.pages["/ready"]).to.contain("span export failing; spans are being dropped");
    expect(written.bodies).not.to.deep.equal([]);
    expect(placesOf(canaries, written)).to.deep.equal({});
  });

  it("are found in the export when the application names a span after the raw path", async () => {
    const leaks: Middleware = (req, _res, next) => {
      trace
        .getTracer("application")
        .startSpan(req.url ?? "")
        .end();
      next();
    };
    const written = await writtenBy(receiver, { toml: toml(""), middleware: [leaks] }, async ({ url }) => {
      await request(url).get(`/${canaries.unmatchedPath}`);
    });
    expect(placesOf(canaries, written)).to.deep.equal({ unmatchedPath: ["export", "request: http_path"] });
  });
});

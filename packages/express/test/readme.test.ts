import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { loggingTable, serviceTable } from "@svc/config";
import { createDatabase } from "@svc/database";
import { testDatabase } from "@svc/dev-services";
import { codeBlocks, runSample } from "@svc/test-support";
import { authOptions } from "@svc/jwt-auth/plugin";
import { expect } from "chai";
import { createService, type ServiceOptions } from "@svc/express";
import { providerOptions } from "@svc/oidc-login/options";
import { variablesOf } from "@svc/options";
import { builtInPlugins } from "../src/plugins/built-in.ts";

const readme = new URL("../README.md", import.meta.url);

async function toml(index: number): Promise<string> {
  return codeBlocks(await readFile(readme, "utf8"), "toml")[index] ?? expect.fail(`no toml block ${index}`);
}

describe("README of @svc/express", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "express-readme" });

  it("the first sample starts a service in five lines", async () => {
    await using sample = await runSample(readme, 0, { files: { "service.toml": await toml(0) } });
    const url = await sample.url;
    const answer = await fetch(`${url}/orders/7`, { headers: { "X-Request-ID": "r-1" } });
    expect(answer.headers.get("x-request-id")).to.equal("r-1");
    expect(await answer.json()).to.deep.equal({ id: "7" });
    const text = async (path: string): Promise<string> => (await fetch(`${url}${path}`)).text();
    expect(await text("/health")).to.equal(
      '{"status":"ok","service":"orders","version":"0.1.0","env":"local"}',
    );
    expect(await text("/ready")).to.equal('{"status":"ok","service":"orders","checks":{}}');
    expect((await fetch(`${url}/nowhere`)).headers.get("content-type")).to.equal("application/problem+json");
    expect((await fetch(`${url}/metrics`)).status).to.equal(200);
    sample.kill("SIGTERM");
    expect((await sample.ended).code).to.equal(0);
  });

  it("the main sample creates a service, starts it and stops it", async () => {
    await using sample = await runSample(readme, 1);
    const { code, stdout, stderr } = await sample.ended;
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: "" });
    expect(stdout)
      .to.contain("12 GB free")
      .and.to.contain("exit code 0")
      .and.to.contain("no order is half done");
  });

  it("the main sample returns 415 for a body that is not JSON (ERR-18)", async () => {
    const stop = 'console.log("exit code", await service.stop());';
    await using sample = await runSample(readme, 1, { replace: { [stop]: "" } });
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/xml"]) {
      const answer = await fetch(`${await sample.url}/orders`, otherType(type));
      expect([type, answer.status]).to.deep.equal([type, 415]);
    }
  });

  it("OIDC-15 the sign-in sample redirects to a provider", async () => {
    const env = { GITHUB_SECRET: "g", ACME_SECRET: "a", SVC_AUTH_SECRET: "s".repeat(32) };
    const files = { "service.toml": `[service]\nname = "orders"\n${await toml(8)}` };
    await using sample = await runSample(readme, 2, { env, files });
    const answer = await fetch(`${await sample.url}/auth/github/start`, { redirect: "manual" });
    expect([answer.status, answer.headers.get("location")?.split("?")[0]]).to.deep.equal([
      302,
      "https://github.com/login/oauth/authorize",
    ]);
  });

  it("the jobs sample runs jobs, events and schedules", async () => {
    const enabled = '[plugins]\nenabled = ["database", "queue", "events"]\n';
    const file = `[service]\nname = "orders"\n${enabled}[plugin.database]\nurl = "\${DATABASE_URL}"\n`;
    await using db = createDatabase({ url: database.url });
    await db.query("create table orders (customer text)");
    await using sample = await runSample(readme, 3, {
      files: { "service.toml": file },
      env: { DATABASE_URL: database.url },
    });
    const url = await sample.url;
    const answer = await fetch(`${url}/orders`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: '{"to":"ann"}',
    });
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/xml"]) {
      expect((await fetch(`${url}/orders`, otherType(type))).status).to.equal(415);
    }
    expect(`${answer.status},${await answer.text()}`).to.match(/^201,\{"event":"[\w-]+"\}$/);
    while (!/"to":"ann","message":"sending"/.test(sample.stdout())) await delay(20);
    expect(await (await fetch(`${url}/info`)).text()).to.match(/"name":"monthly","task":"report.month"/);
  });

  it("the serve() sample serves an existing application", async () => {
    await using sample = await runSample(readme, 4);
    const url = await sample.url;
    expect(await (await fetch(url)).text()).to.equal("as before");
    sample.kill("SIGTERM");
    for (;;) if ((await fetch(`${url}/ready`)).status === 503) break;
    sample.kill("SIGTERM");
    expect((await sample.ended).code).to.equal(1);
  });

  it("the tune() sample tunes an application with its own server", async () => {
    await using sample = await runSample(readme, 5);
    expect(await (await fetch(await sample.url)).json()).to.deep.equal({ from: "a tuned application" });
  });

  it("the CommonJS sample runs", async () => {
    await using sample = await runSample(readme, 6, { commonjs: true });
    expect(await (await fetch(await sample.url)).json()).to.deep.equal({ from: "CommonJS" });
  });

  it("PROF-7 the sample of a web service serves files, accepts forms and sends error pages", async () => {
    const folder = await mkdtemp(join(tmpdir(), "svc-readme-"));
    await writeFile(join(folder, "index.html"), "<form method=post action=/hello>");
    const replace = { 'new URL("public", import.meta.url)': JSON.stringify(folder) };
    await using sample = await runSample(readme, 8, { replace });
    const url = await sample.url;
    expect(await (await fetch(url)).text()).to.contain("<form");
    const body = new URLSearchParams({ name: "<Ada>" });
    const hello = (Origin: string): Promise<Response> =>
      fetch(`${url}/hello`, { method: "POST", body, headers: { Origin, Accept: "text/html" } });
    expect(await (await hello(url)).text()).to.contain("Hello, &#60;Ada&#62;");
    const foreign = await hello("https://other.example");
    expect([foreign.status, foreign.headers.get("content-type")]).to.deep.equal([
      403,
      "text/html; charset=utf-8",
    ]);
    expect(await foreign.text()).to.contain("<h1>403 Forbidden</h1>");
    await rm(folder, { recursive: true });
  });

  it("PROF-7 the sample configuration starts a gateway service, and is rejected without the plugin gateway", async () => {
    const text = await toml(12);
    const logDestination = { write: () => undefined };
    const service = await createService({ kind: "gateway", config: { toml: text }, logDestination });
    expect(service.gateway).to.be.a("function");
    await service.stop();
    const without = text.slice(0, text.indexOf("[plugin.gateway")).replace(', "gateway"', "");
    const started = createService({ kind: "gateway", config: { toml: without }, logDestination });
    const error = await started.then(() => undefined, String);
    expect(error).to.contain('kind: is "gateway", which needs the plugin gateway');
  });

  it("RATE-3 shows the rate_limit settings with their defaults, and a sample that validates and limits requests", async () => {
    const enabled = '[service]\nname = "orders"\n[plugins]\nenabled = ["rate_limit"]\n';
    const shown = await configOf(`${enabled}${await toml(13)}`);
    expect(shown.plugin).to.deep.equal((await configOf(enabled)).plugin);
    await using sample = await runSample(readme, 9);
    const post = async (body: unknown): Promise<number> => {
      const headers = { "Content-Type": "application/json" };
      const request = { method: "POST", body: JSON.stringify(body), headers };
      return (await fetch(`${await sample.url}/orders`, request)).status;
    };
    expect(await post({ item: "pen", count: 0 })).to.equal(422);
    const statuses = [];
    for (let count = 0; count < 10; count++) statuses.push(await post({ item: "pen", count: 1 }));
    expect(statuses).to.deep.equal([...Array.from({ length: 9 }, () => 201), 429]);
  });

  it("shows every rollups key with its default", async () => {
    const enabled = '[service]\nname = "orders"\n[plugins]\nenabled = ["database", "rollups"]\n';
    const url = '[plugin.database]\nurl = "postgres://127.0.0.1:9/x"\n';
    const source = { table: "orders", tenantColumn: "tenant_id", timeColumn: "at" };
    const rollups = { monthly: { source, measures: { n: { sql: "count(*)", type: "bigint" } } } };
    const shown = await configOf(`${enabled}${url}${await toml(14)}`, {}, { rollups });
    expect(shown.plugin).to.deep.equal((await configOf(enabled + url, {}, { rollups })).plugin);
    const keys = (await toml(14)).match(/^\w+ =/gm) ?? [];
    expect(keys).to.have.length(settingsIn(shown.plugin.rollups ?? {}));
  });

  it("CFG-18 shows every key of the TOML file with its default", async () => {
    const shown = await configOf(await toml(1));
    const defaults = await configOf('[service]\nname = "orders"\n');
    expect(shown).to.deep.equal(defaults);
    const keys =
      (await toml(1)).match(/^(?:# )?(\w+) =/gm)?.map((each) => each.replace(/^# | =$/g, "")) ?? [];
    expect(keys).to.have.length(
      settingsIn(defaults.service) + settingsIn(defaults.logging) + 1 + settingsIn(defaults.plugin),
    );
  });

  it("shows every database key with its default", async () => {
    const env = { DATABASE_URL: "postgres://127.0.0.1:1/x" };
    const enabled = '[service]\nname = "orders"\n[plugins]\nenabled = ["database"]\n';
    const shown = await configOf(`${enabled}${await toml(2)}`, env);
    const defaults = await configOf(`${enabled}[plugin.database]\nurl = "\${DATABASE_URL}"\n`, env);
    expect(shown).to.deep.equal(defaults);
    const keys = (await toml(2)).match(/^\w+ =/gm) ?? [];
    expect(keys).to.have.length(settingsIn(defaults.plugin));
  });

  it("JOB-1 JOB-14 JOB-26 shows every queue key with its default", async () => {
    const env = { DATABASE_URL: "postgres://127.0.0.1:1/x" };
    const enabled = `[service]\nname = "orders"\n[plugins]\nenabled = ["database", "queue"]\n`;
    const url = '[plugin.database]\nurl = "${DATABASE_URL}"\n';
    const shown = await configOf(`${enabled}${url}${await toml(3)}`, env);
    const { plugin, ...rest } = await configOf(`${enabled}${url}`, env);
    expect(shown).to.deep.equal({ plugin, ...rest });
    const keys = (await toml(3)).match(/^(?:# )?\w+ =/gm) ?? [];
    expect(keys).to.have.length(settingsIn(plugin.queue ?? {}));
  });

  it("EVT-8 OUT-5 shows every events key with its default", async () => {
    const enabled = '[service]\nname = "orders"\n[plugins]\nenabled = ["events"]\n';
    const shown = await configOf(`${enabled}${await toml(4)}`);
    expect(shown).to.deep.equal(await configOf(enabled));
    const keys = (await toml(4)).match(/^(?:# )?\w+ =/gm) ?? [];
    expect(keys).to.have.length(settingsIn(shown.plugin));
  });

  it("shows every cache key with its default", async () => {
    const env = { REDIS_URL: "redis://127.0.0.1:1" };
    const enabled = '[service]\nname = "orders"\n[plugins]\nenabled = ["cache"]\n';
    const shown = await configOf(`${enabled}${await toml(5)}`, env);
    const defaults = await configOf(`${enabled}[plugin.cache]\nurl = "\${REDIS_URL}"\n`, env);
    expect(shown).to.deep.equal(defaults);
    const keys = (await toml(5)).match(/^\w+ =/gm) ?? [];
    expect(keys).to.have.length(settingsIn(defaults.plugin));
  });

  it("AUTH-38 TEN-23 shows every auth and tenancy key with its default", async () => {
    const env = { SVC_AUTH_JWKS_URL: "https://127.0.0.1:1/keys", SVC_TENANCY_BASE_DOMAIN: "example.com" };
    const enabled = '[service]\nname = "orders"\n[plugins]\nenabled = ["auth", "tenancy"]\n';
    const shown = await configOf(`${enabled}${await toml(6)}`, env);
    const defaults = await configOf(enabled, env);
    expect(shown).to.deep.equal(defaults);
    const keys = (await toml(6)).match(/^(?:# )?\w+ =/gm) ?? [];
    expect(keys).to.have.length(settingsIn(defaults.plugin));
  });

  it("AUTH-38 shows every key of an issuer, and starts with two issuers", async () => {
    const enabled = '[service]\nname = "orders"\n[plugins]\nenabled = ["cache", "auth"]\n[plugin.cache]\n';
    const text = await toml(7);
    const { plugin } = await configOf(`${enabled}url = "redis://127.0.0.1:1"\n${text}`);
    expect(plugin.auth).to.have.property("issuers").that.has.all.keys("staff", "partner");
    const keys = text.slice(text.indexOf("issuers.")).match(/^\w+(?= =)/gm);
    const { issuers } = authOptions.keys;
    expect(new Set(keys)).to.deep.equal(new Set(Object.values(issuers.each.keys).map(({ key }) => key)));
  });

  it("OIDC-15 shows every provider key with its default", async () => {
    const env = { GITHUB_SECRET: "g", ACME_SECRET: "a", SVC_AUTH_SECRET: "s" };
    const acme = "[plugin.auth.providers.acme]";
    const [around = "", ofAcme = ""] = `[service]\nname = "orders"\n${await toml(8)}`.split(acme);
    const shown = await configOf(around + acme + ofAcme, env);
    const optional = /^(?:algorithms|client_authentication|iss_required) = .*$/gm;
    expect(ofAcme.match(optional)).to.have.length(3);
    expect(await configOf(around + acme + ofAcme.replaceAll(optional, ""), env)).to.deep.equal(shown);
    const keys = ofAcme.match(/^(?:# )?\w+ =/gm)?.map((each) => each.replace(/^# | =$/g, ""));
    const known = Object.values(providerOptions.keys).map(({ key }) => key as string);
    expect(keys?.toSorted()).to.deep.equal(known.toSorted());
  });

  it("TRACE-6 shows every telemetry key with its default", async () => {
    const enabled = '[service]\nname = "orders"\n[plugins]\nenabled = ["telemetry"]\n';
    expect(await configOf(`${enabled}${await toml(9)}`)).to.deep.equal(await configOf(enabled));
    const { options } = builtInPlugins.find(({ name }) => name === "telemetry") ?? expect.fail();
    const known = Object.values(options.keys).flatMap((entry) => ("key" in entry ? entry.key : []));
    const keys = (await toml(9)).match(/^\w+(?= =)/gm) ?? [];
    // The key `headers` exists only to be refused.
    expect([...keys, "headers"]).to.have.members(known);
  });

  it("shows every key of an upstream with its default", async () => {
    const enabled = '[service]\nname = "orders"\n[plugins]\nenabled = ["http"]\n';
    const shown = await configOf(enabled + (await toml(10)));
    const base = '[plugin.http.upstreams.billing]\nbase_url = "http://127.0.0.1:8010"\n';
    expect(shown).to.deep.equal(await configOf(enabled + base));
    const keys = (await toml(10)).match(/^\w+ =/gm) ?? [];
    expect(keys).to.have.length(settingsIn(shown.plugin));
  });

  it("shows every key of a route of the gateway with its default", async () => {
    const enabled = '[service]\nname = "orders"\n[plugins]\nenabled = ["gateway"]\n';
    const shown = await configOf(enabled + (await toml(11)));
    const route = '[plugin.gateway.routes.api]\nprefix = "/api"\ntargets = ["http://127.0.0.1:8010"]\n';
    expect(shown).to.deep.equal(await configOf(enabled + route));
    const keys = (await toml(11)).match(/^\w+ =/gm) ?? [];
    expect(keys).to.have.length(settingsIn(shown.plugin));
  });

  it("ENV-6 lists every variable that is read", async () => {
    const tables = [...builtInPlugins.map(({ options }) => options), serviceTable, loggingTable];
    const read = tables.flatMap((table) => variablesOf(table));
    const named = new Set((await readFile(readme, "utf8")).match(/\b(?:SVC|OTEL)_[A-Z_]+\b/g));
    expect(read).to.have.length.above(15);
    expect(read.filter((name) => !named.has(name))).to.deep.equal([]);
  });
});

function otherType(type: string): RequestInit {
  return { method: "POST", headers: { "Content-Type": type }, body: "to=ann" };
}

async function configOf(
  text: string,
  env: Record<string, string> = {},
  code: ServiceOptions = {},
): Promise<Awaited<ReturnType<typeof createService>>["config"]> {
  const service = await createService({
    ...code,
    config: { toml: text },
    env,
    logDestination: { write: () => undefined },
  });
  await service.stop();
  return service.config;
}

/** Counts the settings of a table and its nested tables. */
function settingsIn(table: object): number {
  return Object.values(table)
    .map((value: unknown) =>
      typeof value === "object" && value !== null && !Array.isArray(value) ? settingsIn(value) : 1,
    )
    .reduce((sum, each) => sum + each, 0);
}

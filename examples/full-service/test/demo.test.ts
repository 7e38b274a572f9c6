import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePort, freePorts, needsPostgres, testDatabase } from "@svc/dev-services";
import { createService } from "@svc/express";
import { ConfigurationError } from "@svc/options";
import { expect } from "chai";
import request from "supertest";
import { noRedis } from "../src/demo.ts";
import { demoPassword, demoUsers } from "../src/demo-users.ts";
import { demoTenants } from "../src/seed.ts";
import { expensesService } from "../src/service.ts";
import {
  blocks,
  demoProcess,
  isListening,
  pair,
  processesWith,
  temporaryCheckout,
} from "./support/demo-process.ts";
import { authEnv, caller } from "./support/caller.ts";
import { CookieJar } from "./support/cookie-jar.ts";
import { list, record, walk } from "./support/expenses.ts";
import { runService } from "./support/running-service.ts";

const startFile = fileURLToPath(new URL("../start.ts", import.meta.url));

/** The response of `/debug/traces`. */
interface Traces {
  readonly traces: readonly { readonly spans: readonly { readonly name: string }[] }[];
}

async function occupied(port: number): Promise<Server> {
  const server = createServer().listen(port, "127.0.0.1");
  await once(server, "listening");
  return server;
}

describe("the start command", function () {
  this.timeout(60_000);
  needsPostgres();

  it("PORT-2 PORT-4 PORT-6 PORT-7 serves on SVC_PORT, with a database whose data survive a restart, and a Redis", async () => {
    using checkout = temporaryCheckout();
    const port = await freePorts(pair);
    const env = { SVC_PORT: String(port), ...authEnv };
    let id = "";
    {
      await using demo = demoProcess(checkout, env);
      const url = await demo.opened;
      expect(url).to.equal(`http://localhost:${port}`);
      expect(demo.stderr()).to.contain(`on port ${port + 1}, data in ${checkout.data}`);
      const redis = `Redis on port ${port + 3}, data in ${checkout.data}/redis\n`;
      expect([redis, `${noRedis}\n`].some((line) => demo.stderr().includes(line))).to.equal(true);
      expect(processesWith(checkout.data)).not.to.deep.equal([]);
      for (const tenant of demoTenants) expect(await walk(url, { tenant })).to.have.length(120);
      id = await record(url, { tenant: "harbour-cafe", note: "kept" });
      expect((await request(url).get("/")).text).to.contain('href="/debug/traces"');
      const { traces } = (await request(url).get("/debug/traces")).body as Traces;
      const names = traces.flatMap(({ spans }) => spans.map(({ name }) => name));
      expect(names).to.include.members(["GET /expenses", "SELECT expenses"]);
      demo.interrupt();
      const { code, stdout } = await demo.ended;
      expect(code, stdout).to.equal(0);
      expect(processesWith(checkout.data)).to.deep.equal([]);
      const listening = await Promise.all([port, port + 1, port + 3].map(isListening));
      expect(listening).to.deep.equal([false, false, false]);
    }
    await using again = demoProcess(checkout, env);
    const { status, body } = await caller(await again.opened, "harbour-cafe").get(`/expenses/${id}`);
    expect({ status, note: (body as { note: string }).note }).to.deep.equal({ status: 200, note: "kept" });
    expect(await walk(await again.opened, { tenant: "harbour-cafe" })).to.have.length(121);
    again.interrupt();
    expect((await again.ended).code).to.equal(0);
    expect(processesWith(checkout.data)).to.deep.equal([]);
  });

  it("leaves no process behind when it is interrupted before it serves", async () => {
    using checkout = temporaryCheckout();
    await using demo = demoProcess(checkout, { SVC_PORT: String(await freePorts(pair)) });
    while (!existsSync(checkout.data)) await sleep(1);
    demo.interrupt();
    // Leaving the block waits until no process uses the demo data.
    expect((await demo.ended).stderr).not.to.contain("Open");
  });

  it("PORT-5 names a port that is taken, before it starts a database", async () => {
    using checkout = temporaryCheckout();
    const port = await freePorts(pair);
    const server = await occupied(port);
    try {
      await using demo = demoProcess(checkout, { SVC_PORT: String(port) });
      expect(await demo.ended).to.deep.equal({
        code: 1,
        stdout: "",
        stderr: `port ${port} of 127.0.0.1 is taken; set SVC_PORT to a free one\n`,
      });
      expect(existsSync(checkout.data)).to.equal(false);
    } finally {
      server.close();
    }
  });

  it("PORT-5 names the taken port of its database and the remedy", async () => {
    using checkout = temporaryCheckout();
    const port = await freePorts(pair);
    const server = await occupied(port + 1);
    try {
      await using demo = demoProcess(checkout, { SVC_PORT: String(port) });
      const { code, stdout, stderr } = await demo.ended;
      expect({ code, stdout }).to.deep.equal({ code: 1, stdout: "" });
      expect(stderr.split("\n").slice(-2)).to.deep.equal([
        `port ${port + 1} on 127.0.0.1, needed for PostgreSQL, is taken; ` +
          "stop the process that uses it, or set SVC_PORT so that the port after it is free",
        "",
      ]);
    } finally {
      server.close();
    }
  });

  it("CFG-16 exits with code 2 in prod without DATABASE_URL", async () => {
    using checkout = temporaryCheckout();
    await using demo = demoProcess(checkout, { SVC_ENV: "prod" }, startFile);
    const { code, stderr } = await demo.ended;
    expect(code).to.equal(2);
    expect(stderr).to.match(/DATABASE_URL: must be set if SVC_ENV is prod/);
  });

  it("exits with code 2 and names an invalid variable, before it starts a database", async () => {
    using checkout = temporaryCheckout();
    for (const SVC_PORT of ["http", "65535"]) {
      await using demo = demoProcess(checkout, { SVC_PORT });
      const { code, stderr } = await demo.ended;
      expect({ SVC_PORT, code }).to.deep.equal({ SVC_PORT, code: 2 });
      expect(stderr).to.contain(SVC_PORT === "http" ? "SVC_PORT" : "65535");
    }
    expect(existsSync(checkout.data)).to.equal(false);
  });

  it("starts while the database of DATABASE_URL is down, and reports that it is not ready", async () => {
    using checkout = temporaryCheckout();
    const env = {
      SVC_PORT: String(await freePorts(pair)),
      DATABASE_URL: "postgres://a:secret@127.0.0.1:1/none",
    };
    await using demo = demoProcess(checkout, env);
    const url = await demo.opened;
    expect(demo.stderr()).to.contain("Not ready yet: database (not answering").and.not.to.contain("secret");
    expect((await request(url).get("/health")).status).to.equal(200);
    expect((await request(url).get("/ready")).status).to.equal(503);
    demo.interrupt();
    expect((await demo.ended).code).to.equal(0);
  });
});

describe("the start command with --all", function () {
  this.timeout(60_000);
  const script = fileURLToPath(new URL("./support/start-all.ts", import.meta.url));
  const refusals = {
    "SVC_ENV: must be local": { SVC_ENV: "staging" },
    "DATABASE_URL: must not be set": { DATABASE_URL: "postgres://127.0.0.1:1/none" },
    "SVC_PORT: must not be 0": { SVC_PORT: "0" },
    "SVC_PORT: must be at most 65506": { SVC_PORT: "65520" },
  };

  for (const [message, env] of Object.entries(refusals)) {
    it(`exits with code 2 and the message "${message}", before it starts anything`, async () => {
      using checkout = temporaryCheckout();
      await using all = demoProcess(checkout, env, script);
      const { code, stderr } = await all.ended;
      expect({ code, exists: existsSync(checkout.data) }).to.deep.equal({ code: 2, exists: false });
      expect(stderr).to.contain(message);
    });
  }

  it("PORT-5 names a port that is taken, before it starts anything", async () => {
    using checkout = temporaryCheckout();
    const port = await freePorts(blocks);
    await using _server = await occupied(port + 20);
    await using all = demoProcess(checkout, { SVC_PORT: String(port) }, script);
    const { code, stderr } = await all.ended;
    expect({ code, exists: existsSync(checkout.data) }).to.deep.equal({ code: 1, exists: false });
    expect(stderr).to.contain(`port ${port + 20} of 127.0.0.1 is taken`);
  });
});

describe("the start command with DATABASE_URL", function () {
  this.timeout(60_000);
  const local = testDatabase({ name: "demo local" });
  const staging = testDatabase({ name: "demo staging" });
  const prod = testDatabase({ name: "demo prod" });
  const used = testDatabase({ name: "demo used" });

  it("uses that database instead of starting one; adds demo data only in local", async () => {
    const databases = { local: local.url, staging: staging.url };
    for (const [SVC_ENV, DATABASE_URL] of Object.entries(databases)) {
      using checkout = temporaryCheckout();
      const port = await freePorts(pair);
      // Occupy the port of the demo database, so that starting one would fail.
      await using _taken = await occupied(port + 1);
      await using demo = demoProcess(checkout, { SVC_ENV, SVC_PORT: String(port), DATABASE_URL, ...authEnv });
      const { expenses } = await list(await demo.opened, { tenant: "harbour-cafe", limit: "1" });
      expect({ SVC_ENV, rows: expenses.length }).to.deep.equal({
        SVC_ENV,
        rows: SVC_ENV === "local" ? 1 : 0,
      });
      expect(existsSync(checkout.data)).to.equal(false);
    }
  });

  it("starts a demo provider in local, with which visitors can sign in", async () => {
    using checkout = temporaryCheckout();
    const env = { SVC_PORT: String(await freePort()), DATABASE_URL: local.url };
    await using demo = demoProcess(checkout, env);
    const url = await demo.opened;
    const jar = new CookieJar();
    let page = await jar.follow(await jar.get(`${url}/auth/demo/start?return_to=/account`));
    for (const form of [{ person: "admin-of-nordic-bikes" }, {}]) {
      const [, action = ""] = /<form method="post" action="([^"]+)"/.exec(await page.text()) ?? [];
      page = await jar.follow(await jar.post(new URL(action, page.url).href, { answer: "yes", ...form }));
    }
    expect({ url: page.url, status: page.status }).to.deep.equal({ url: `${url}/account`, status: 200 });
    expect(await page.text()).to.contain("admin-of-nordic-bikes");
    demo.interrupt();
    expect((await demo.ended).code).to.equal(0);
  });

  it("CFG-16 CFG-17 writes no demo data and no demo users in prod", async () => {
    using checkout = temporaryCheckout();
    const env = {
      SVC_ENV: "prod",
      SVC_PORT: String(await freePorts(pair)),
      DATABASE_URL: prod.url,
      ...authEnv,
    };
    await using demo = demoProcess(checkout, env, startFile);
    const url = await demo.opened;
    expect((await request(url).get("/ready")).status).to.equal(200);
    expect(await list(url, {})).to.deep.equal({ expenses: [], next: null });
    const [person] = demoUsers;
    const login = await request(url).post("/login").send({ email: person?.email, password: demoPassword });
    expect(login.status).to.equal(401);
    expect((await request(url).get("/sign-in")).text).not.to.contain(demoPassword);
  });

  for (const [given, named] of [
    [{ seed: true }, ["seed"]],
    [{ demoUsers: true }, ["demoUsers"]],
    [{ seed: true, demoUsers: true }, ["seed", "demoUsers"]],
  ] as const) {
    it(`CFG-16 CFG-17 rejects demo options in prod, and names them: ${named.join(" and ")}`, async () => {
      const options = expensesService({ SVC_ENV: "prod", DATABASE_URL: prod.url, ...authEnv }, given);
      const error = await createService({ ...options, logDestination: { write: () => undefined } }).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(error).to.be.instanceOf(ConfigurationError);
      const { message } = error as Error;
      expect(message.includes("demo data are refused in prod")).to.equal("seed" in given);
      expect(message.includes("demo users are refused in prod")).to.equal("demoUsers" in given);
      for (const option of named) expect(message).to.contain(option);
    });
  }

  it("keeps the rows of an existing table", async () => {
    {
      await using first = await runService(used.url);
      await record(first.url, { note: "mine" });
    }
    await using second = await runService(used.url, { seed: true });
    expect(await walk(second.url, {})).to.have.length(1);
  });
});

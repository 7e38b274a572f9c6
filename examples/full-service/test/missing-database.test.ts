import { freePort, needsPostgres, startPostgres, testDatabase, testPostgresServer } from "@svc/dev-services";
import { expect } from "chai";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import request from "supertest";
import { serviceUrl } from "../src/database-role.ts";
import { demoTenants } from "../src/seed.ts";
import { caller } from "./support/caller.ts";
import { expense, list, record } from "./support/expenses.ts";
import { untilReady } from "./support/ready.ts";
import { runService } from "./support/running-service.ts";

interface Readiness {
  readonly status: string;
  readonly checks: Readonly<Record<string, { readonly healthy: boolean; readonly detail: string }>>;
}

async function ready(url: string): Promise<{ readonly status: number; readonly body: Readiness }> {
  const { status, body } = await request(url).get("/ready");
  return { status, body: body as Readiness };
}

/** Expects a 503 with `Retry-After` from all routes that need the database. */
async function expectUnavailable(url: string): Promise<void> {
  const answers = await Promise.all([
    caller(url).get("/expenses"),
    caller(url).get(`/expenses/${"0".repeat(32)}`),
    caller(url).post("/expenses").send(expense()),
  ]);
  for (const { status, type, headers, text } of answers) {
    expect({ status, type }).to.deep.equal({ status: 503, type: "application/problem+json" });
    expect(Number(headers["retry-after"])).to.be.at.least(1);
    expect(text).not.to.match(/127\.0\.0\.1|postgres|secret/);
  }
}

describe("the service without its database", function () {
  this.timeout(60_000);
  needsPostgres();

  it("starts, is healthy, names the database in /ready, and returns 503", async () => {
    await using running = await runService("postgres://someone:secret@127.0.0.1:1/expenses");
    expect((await request(running.url).get("/health")).status).to.equal(200);
    const { status, body } = await ready(running.url);
    expect(status).to.equal(503);
    expect(body.checks["database"]).to.include({ healthy: false });
    expect(body.checks["expenses"]).to.include({ healthy: false });
    expect(JSON.stringify(body)).not.to.match(/secret|someone/);
    await expectUnavailable(running.url);
    expect((await request(running.url).get("/")).status).to.equal(200);
    expect((await caller(running.url).get("/expenses?month=march")).status).to.equal(422);
  });

  it("creates the table and the demo data when the database becomes available", async () => {
    const port = await freePort();
    await using running = await runService(`postgres://postgres@127.0.0.1:${port}/late`, { seed: true });
    await expectUnavailable(running.url);
    await using server = await startPostgres({ purpose: "test", port, database: "late" });
    expect(server.port).to.equal(port);
    await untilReady(running.url);
    for (const tenant of demoTenants) {
      expect((await list(running.url, { tenant, limit: "100" })).expenses).to.have.length(100);
    }
  });

  describe("when the database hangs and recovers", () => {
    const postgres = testPostgresServer();

    it("returns 503 in bounded time, stays healthy, and serves again", async () => {
      await using running = await runService(postgres.url);
      const id = await record(running.url);
      postgres.server.pause();
      try {
        await expectUnavailable(running.url);
        expect((await request(running.url).get("/health")).status).to.equal(200);
        const { status, body } = await ready(running.url);
        expect(status).to.equal(503);
        expect(body.checks["database"]).to.include({ healthy: false });
      } finally {
        postgres.server.resume();
      }
      await untilReady(running.url);
      for (let i = 0; (await caller(running.url).get(`/expenses/${id}`)).status !== 200 && i < 300; i++) {
        await sleep(100);
      }
      expect((await caller(running.url).get(`/expenses/${id}`)).status).to.equal(200);
      expect((await caller(running.url).post("/expenses").send(expense())).status).to.equal(201);
    });
  });
});

describe("several services that start at the same time", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "crowd" });

  /** Returns the example's configuration with timeouts for slow machines, so that any failure is real. */
  async function patient(): Promise<string> {
    let toml = await readFile(new URL("../service.toml", import.meta.url), "utf8");
    for (const [line, more] of [
      ["[service]", "[service]\nreadiness_timeout = 40"],
      ["statement_timeout = 3", "statement_timeout = 40\nconnect_timeout = 40\nacquire_timeout = 40"],
    ] as const) {
      if (!toml.includes(line)) throw new Error(`the file does not contain ${line}`);
      toml = toml.replace(line, more);
    }
    return toml;
  }

  it("create the table and its demo data once", async () => {
    const url = await serviceUrl(database.url);
    const toml = await patient();
    const run = (): ReturnType<typeof runService> => runService(url, { seed: true }, {}, { toml });
    const crowd = await Promise.all(Array.from({ length: 5 }, run));
    try {
      // The first check of each service creates the tables or waits for them; a later check could hide its failure.
      const first = await Promise.all(crowd.map((each) => ready(each.url)));
      for (const { status, body } of first) expect(status, JSON.stringify(body)).to.equal(200);
      for (const tenant of demoTenants) {
        const query = { tenant, month: "2026-03", limit: "100" };
        const { expenses, next } = await list(crowd[0]?.url ?? "", query);
        expect([expenses.length, next]).to.deep.equal([10, null]);
      }
    } finally {
      await Promise.all(crowd.map((each) => each[Symbol.asyncDispose]()));
    }
  });
});

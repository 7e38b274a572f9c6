import { freePort, needsPostgres, startPostgres } from "@svc/dev-services";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import type { Express } from "express";
import request from "supertest";
import type { Service } from "@svc/express";
import { startService, type TestService } from "./support/test-service.ts";

function routes(app: Express, { db }: Service): void {
  app.get("/one", async (_req, res) => {
    const { rows } = await (db ?? expect.fail("there is no database")).query("select 1 as one");
    res.json(rows[0]);
  });
}

const toml = (port: number, more = ""): string => `
[plugins]
enabled = ["observability", "metrics", "database"]
[plugin.database]
url = "postgres://postgres:hunter2@127.0.0.1:${port}/postgres"
connect_timeout = 0.5
acquire_timeout = 0.5
statement_timeout = 0.5
${more}
`;

/** Sends requests until a response has the given status. The test's own timeout is the limit. */
async function until(test: TestService, path: string, status: number): Promise<request.Response> {
  for (;;) {
    const answer = await request(test.url).get(path);
    if (answer.status === status) return answer;
    await delay(100);
  }
}

interface Report {
  readonly status: string;
  readonly checks: {
    readonly database: { readonly healthy: boolean; readonly critical: boolean; readonly detail: string };
  };
}

describe("a service without its database", function () {
  this.timeout(120_000);
  needsPostgres();

  it("RDY-13 SYS-4 starts, reports the database in /ready, returns 503 in bounded time, and recovers", async () => {
    const port = await freePort();
    await using test = await startService({ toml: toml(port), routes });
    expect((await request(test.url).get("/health")).status).to.equal(200);
    const ready = await request(test.url).get("/ready");
    expect(ready.status).to.equal(503);
    const { status, checks } = ready.body as Report;
    expect(status).to.equal("unavailable");
    expect(checks.database).to.include({ healthy: false, critical: true });
    for (let i = 0; i < 4; i++) {
      const answer = await request(test.url).get("/one");
      expect(answer.status).to.equal(503);
      expect(answer.headers["content-type"]).to.equal("application/problem+json");
      expect(answer.headers["retry-after"]).to.match(/^\d+$/);
      expect(answer.body).to.include({ detail: "the database is not answering; retry shortly" });
    }
    expect(JSON.stringify(test.lines) + ready.text).not.to.contain("hunter2");

    await using postgres = await startPostgres({ purpose: "test", port });
    expect((await until(test, "/one", 200)).body).to.deep.equal({ one: 1 });
    expect(((await until(test, "/ready", 200)).body as Report).checks.database).to.include({ healthy: true });

    postgres.pause();
    try {
      const stuck = await until(test, "/one", 503);
      expect(stuck.body).to.include({ title: "Service Unavailable" });
      await until(test, "/ready", 503);
      expect((await request(test.url).get("/health")).status).to.equal(200);
    } finally {
      postgres.resume();
    }
    await until(test, "/one", 200);
    await until(test, "/ready", 200);
    expect(test.lines.filter((line) => line["level"] === "fatal")).to.deep.equal([]);
    expect(await test.service.stop()).to.equal(0);
  });

  it("RDY-4 returns 200 and degraded from /ready with critical = false", async () => {
    await using test = await startService({ toml: toml(1, "critical = false"), routes });
    const ready = await request(test.url).get("/ready");
    expect(ready.status).to.equal(200);
    expect(ready.body).to.include({ status: "degraded" });
  });

  it("refuses to start with an invalid URL, and does not show the URL", async () => {
    for (const url of ['"mysql://root:hunter2@127.0.0.1/x"', "5"]) {
      const file = `[plugins]\nenabled = ["database"]\n[plugin.database]\nurl = ${url}\n`;
      let message = "";
      await startService({ toml: file }).catch((error: Error) => (message = error.message));
      expect(message)
        .to.contain("plugin.database.url: must be a URL that begins with postgres://")
        .and.not.to.contain("hunter2");
    }
  });
});

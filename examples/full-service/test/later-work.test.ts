import { createDatabase } from "@svc/database";
import { testDatabase } from "@svc/dev-services";
import { expect } from "chai";
import request from "supertest";
import { pruneTask } from "../src/imports/prune.ts";
import { serviceUrl } from "../src/database-role.ts";
import { activityOf, untilActivity } from "./support/activity.ts";
import { caller } from "./support/caller.ts";
import { expense, record } from "./support/expenses.ts";
import { header, rowsOf, sendFile, untilImport } from "./support/files.ts";
import { untilIdle } from "./support/idle.ts";
import { runService, type RunningService } from "./support/running-service.ts";

describe("the background work of the service", function () {
  this.timeout(30_000);
  const database = testDatabase({ name: "later work" });
  let databaseUrl = "";
  let running: RunningService;

  before("the service", async () => {
    databaseUrl = await serviceUrl(database.url);
    running = await runService(databaseUrl);
  });
  after(() => running[Symbol.asyncDispose]());

  it("EVT-2 counts every recorded expense for its tenant", async () => {
    await record(running.url, { tenant: "cafe" });
    await record(running.url, { tenant: "cafe" });
    await record(running.url, { tenant: "bikes" });
    await untilActivity(running.url, 2, "cafe");
    await untilActivity(running.url, 1, "bikes");
    const [day] = await activityOf(running.url, "cafe");
    expect(Math.abs(Date.now() - Date.parse(day?.day ?? ""))).to.be.below(2 * 86_400_000);
  });

  it("OUT-2 counts an event once even if it is delivered several times", async () => {
    const event = {
      type: "expense.recorded",
      id: "again",
      tenantId: "twice",
      occurredAt: new Date("2026-03-01T23:30:00Z"),
      data: {},
    };
    await running.service.events?.publish(event);
    await untilActivity(running.url, 1, "twice");
    await untilIdle(running);
    await running.service.events?.publish(event);
    await untilIdle(running);
    expect(await activityOf(running.url, "twice")).to.deep.equal([{ day: "2026-03-01", expenses: 1 }]);
  });

  it("publishes no event for an expense that was not recorded", async () => {
    const refused = await caller(running.url, "nobody")
      .post("/expenses")
      .send(expense({ amount: "-1" }));
    expect(refused.status).to.equal(422);
    await untilIdle(running);
    expect(await activityOf(running.url, "nobody")).to.deep.equal([]);
  });

  it("SCH-3 deletes month-old imports and incomplete uploads at night", async () => {
    const { text } = await request(running.url).get("/info");
    const [, at = ""] = /"name":"prune-imports","task":"imports.prune","at":"([^"]+)"/.exec(text) ?? [];
    const there = new Intl.DateTimeFormat("en-GB", { timeZone: "Europe/Berlin", timeStyle: "short" });
    expect(there.format(new Date(at))).to.equal("03:30");
    const file = `${header}\n${rowsOf(1)}`;
    const [old, young] = [
      await sendFile(running.url, file, "cafe"),
      await sendFile(running.url, file, "cafe"),
    ];
    for (const place of [old, young]) await untilImport(running.url, place, undefined, "cafe");
    await using db = createDatabase({ url: databaseUrl });
    const left = await db.withTenant("cafe", async (tx) => {
      await tx.query("update imports set finished_at = now() - interval '31 days' where id = $1", [
        old.slice(-32),
      ]);
      await tx.query(
        "insert into imports (id, tenant, header, created_at) values ('cut', 'cafe', '[]', now() - interval '2 days')",
      );
      return (await tx.query("select from imports")).rowCount;
    });
    expect(left).to.equal(3);
    await running.service.jobs?.enqueue({ task: pruneTask });
    await untilIdle(running);
    expect((await caller(running.url, "cafe").get(old)).status).to.equal(404);
    expect((await caller(running.url, "cafe").get(young)).status).to.equal(200);
    const { rowCount } = await db.withTenant("cafe", (tx) => tx.query("select from imports"));
    expect(rowCount).to.equal(1);
    expect(running.log.join("")).to.contain("old imports deleted");
  });
});

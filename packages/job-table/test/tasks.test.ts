import { testDatabase } from "@svc/dev-services";
import { createWorker, defineTasks, JobError, tableAccess } from "@svc/job-table";
import { withTransaction } from "@svc/sql";
import { rejection } from "@svc/test-support";
import { type } from "arktype";
import { expect } from "chai";
import type { Pool } from "pg";
import * as v from "valibot";
import { z } from "zod";
import { openPool } from "./support/bench.ts";
import { openTable, storedIn } from "./support/typed-table.ts";
import { work } from "./support/working.ts";

const SECRET = "hunter2-in-the-payload";

describe("jobs of defined tasks", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "job-tasks" });
  let pool: Pool;
  before(() => {
    pool = openPool(database.url);
  });
  after(() => pool.end());

  const wrong = { to: 7, items: [{ price: 1 }, { price: SECRET }], "x-y": SECRET };
  const libraries = {
    zod: z.object({
      to: z.string(),
      items: z.array(z.object({ price: z.number() })),
      "x-y": z.number(),
    }),
    valibot: v.object({
      to: v.string(),
      items: v.array(v.object({ price: v.number() })),
      "x-y": v.number(),
    }),
    arktype: type({ to: "string", items: type({ price: "number" }).array(), "x-y": "number" }),
  };
  for (const [library, schema] of Object.entries(libraries)) {
    it(`are rejected when they are queued with an invalid payload, with the paths but no values (${library})`, async () => {
      const table = await openTable(pool, defineTasks({ "mail.send": schema }));
      const error = await rejection(table.enqueue({ task: "mail.send", payload: wrong as never }));
      expect(error).to.be.instanceOf(JobError).and.include({ code: "ERR_SVC_JOB_SCHEMA" });
      expect((error as Error).cause).to.equal(undefined);
      const [start, paths = ""] = (error as Error).message.split(" at ");
      expect(start).to.equal("the payload does not match the schema of the task mail.send");
      expect(paths.split(", ")).to.have.members(["payload.to", "payload.items[1].price", 'payload["x-y"]']);
      expect(await storedIn(pool, table)).to.eql([]);
      const right = { to: "ann", items: [], "x-y": 1 };
      expect(await table.enqueue({ task: "mail.send", payload: right })).to.include({ enqueued: true });
    });
  }

  it("are all rejected when one job of enqueueMany() has an invalid payload, with its position", async () => {
    const table = await openTable(pool, defineTasks({ "mail.send": z.object({ to: z.string() }) }));
    const jobs = ["ann", 7, "ben"].map((to) => ({ task: "mail.send", payload: { to } }) as never);
    expect((await rejection(table.enqueueMany(jobs))) as Error)
      .to.include({ code: "ERR_SVC_JOB_SCHEMA" })
      .and.have.property("message")
      .that.matches(/schema of the task mail\.send at jobs\[1\]\.payload\.to$/);
    expect(await storedIn(pool, table)).to.eql([]);
  });

  it("leave the caller's transaction usable when they are refused", async () => {
    const table = await openTable(pool, defineTasks({ "mail.send": z.object({ to: z.string() }) }));
    await withTransaction(pool, async (tx) => {
      await rejection(table.enqueue({ task: "mail.send", payload: {} as never }, { tx }));
      await table.enqueue({ id: "kept", task: "mail.send", payload: { to: "ann" } }, { tx });
    });
    expect((await storedIn(pool, table)).map(({ id }) => id)).to.eql(["kept"]);
  });

  it("are rejected with an invalid payload when another package queues them in its own statement", async () => {
    const table = await openTable(pool, defineTasks({ "mail.send": z.object({ to: z.string() }) }));
    const access = tableAccess("other()", table, 1000);
    const part = { from: "nothing", first: 1 };
    expect(() => access.enqueuePart({ task: "mail.send", payload: { to: 7 } }, part)).to.throw(
      JobError,
      "at payload.to",
    );
    expect(access.enqueuePart({ task: "mail.send", payload: { to: "ann" } }, part).values).to.have.length(9);
  });

  it("fail like any other attempt when a worker claims them with an invalid payload", async () => {
    const table = await openTable(
      pool,
      defineTasks({ "mail.send": v.object({ to: v.string() }), other: z.object({}) }),
    );
    const text = JSON.stringify({ to: [SECRET] });
    const insert = `insert into ${table.name} (id, task, payload, max_attempts) values ($1, 'mail.send', $2, $3)`;
    await pool.query(insert, ["once", text, 1]);
    await pool.query(insert, ["twice", text, 2]);
    await table.enqueue({ id: "other", task: "other" });
    const ran: string[] = [];
    const note = (_payload: unknown, { id }: { readonly id: string }): void => void ran.push(id);
    await using working = work({ table } as never, {
      handlers: { "mail.send": note, other: note, untyped: note },
    });
    await working.reported("dead");
    await working.reported("failed");
    await working.reported("done");
    expect([ran, working.ids("dead"), working.ids("failed")]).to.eql([["other"], ["once"], ["twice"]]);
    const last_error = "JobError: the payload does not match the schema of the task mail.send at payload.to";
    expect(await storedIn(pool, table)).to.have.deep.members([
      { id: "once", payload: { to: [SECRET] }, attempts: 1, status: "dead", last_error },
      { id: "twice", payload: { to: [SECRET] }, attempts: 1, status: "pending", last_error },
    ]);
    const errors = working.events.flatMap((event) => (event.type === "failed" ? [event.error] : []));
    expect(errors[0]).to.be.instanceOf(JobError).and.include({ code: "ERR_SVC_JOB_SCHEMA" });
  });

  it("fail when claim() reads an invalid payload, and are not returned", async () => {
    const table = await openTable(pool, defineTasks({ "mail.send": z.object({ to: z.string() }) }));
    const insert = `insert into ${table.name} (id, task, payload, max_attempts) values ($1, $2, $3, $4)`;
    await pool.query(insert, ["once", "mail.send", "{}", 1]);
    await pool.query(insert, ["twice", "mail.send", "[]", 2]);
    await pool.query(insert, ["rounded", "mail.send", '{"to": 9007199254740993}', 2]);
    await pool.query(insert, ["right", "mail.send", '{"to": "ann", "more": 1}', 2]);
    await pool.query(insert, ["other", "other", "[]", 2]);
    const jobs = await table.claim(10);
    expect(jobs.map(({ id, payload }) => [id, payload])).to.have.deep.members([
      ["right", { to: "ann" }],
      ["other", []],
    ]);
    const rows = await storedIn(pool, table);
    const states = Object.fromEntries(rows.map(({ id, status }) => [id, status]));
    expect(states).to.eql({
      once: "dead",
      twice: "pending",
      rounded: "dead",
      right: "running",
      other: "running",
    });
    expect(rows.find(({ id }) => id === "twice")?.last_error).to.match(/ at payload$/);
    for (const job of jobs) expect(await table.ack(job)).to.equal(true);
  });

  it("are stored as passed, and transformed for the handler", async () => {
    const at = z.object({
      at: z.iso.datetime().transform((text) => new Date(text)),
      n: z.number().default(1),
    });
    const table = await openTable(pool, defineTasks({ remind: at, date: z.object({ at: z.date() }) }));
    const text = "2026-01-01T00:00:00Z";
    const { promise: received, resolve } = Promise.withResolvers<unknown>();
    await using worker = createWorker({
      table,
      pollMs: 50,
      handlers: { remind: resolve, date: () => undefined },
    });
    await table.enqueue({ id: "later", task: "remind", payload: { at: text }, delaySeconds: 60 });
    expect((await storedIn(pool, table))[0]?.payload).to.eql({ at: text });
    worker.start();
    await table.enqueue({ task: "remind", payload: { at: text } });
    expect(await received).to.eql({ at: new Date(text), n: 1 });
    // The stored JSON has no dates, so a handler could never receive one that the schema accepts.
    const error = await rejection(table.enqueue({ task: "date", payload: { at: new Date(text) } }));
    expect((error as Error).message).to.match(/ at payload\.at$/);
  });

  it("are not checked at run time if their tasks have only types and no schemas", async () => {
    const table = await openTable(pool, defineTasks<{ a: { readonly to: string } }>());
    await table.enqueue({ task: "a", payload: { to: 7 } as never });
    await table.enqueue({ task: "unknown" } as never);
    expect((await table.claim(5)).map(({ task }) => task)).to.have.members(["a", "unknown"]);
  });
});

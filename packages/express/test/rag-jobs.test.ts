import { createSearchStore } from "@svc/search-store";
import { until } from "@svc/test-support";
import { expect } from "chai";
import pg from "pg";
import request from "supertest";
import { embed, ragOn, ragToml, searchCheckOf } from "./support/rag-service.ts";
import { startService, type TestService } from "./support/test-service.ts";
import { vectorServer } from "./support/vector-server.ts";

const SMALL = 'tenant = "-"\nindex_above = 3\nindex_below = 2\nmaintain_every = 1\n';

async function hasIndex({ service }: TestService): Promise<boolean> {
  return (await service.search?.stats())?.index?.valid === true;
}

describe("the plugin `rag` with background work", function () {
  this.timeout(60_000);
  const server = vectorServer();
  const texts = ["one", "two", "three"].map((content) => ({ content }));

  it("maintains the indexes in a job of the queue, on a schedule that /info shows", async () => {
    const url = await server.database();
    await using test = await startService(
      ragOn(url, ragToml(SMALL, '"metrics", "database", "queue", "rag"')),
    );
    await test.service.search?.ingest("a", texts);
    await until("the index", () => hasIndex(test));
    const { plugins } = (await request(test.url).get("/info")).body as {
      readonly plugins: readonly {
        readonly name: string;
        readonly tasks?: readonly string[];
        readonly schedules?: readonly { readonly name: string; readonly task: string }[];
      }[];
    };
    const { tasks, schedules } = plugins.find(({ name }) => name === "queue") ?? expect.fail("no queue");
    expect(tasks).to.include.members(["rag:ingest", "rag:maintain", "rag:recall"]);
    expect(schedules?.map(({ name, task }) => [name, task])).to.deep.equal([
      ["rag:maintain", "rag:maintain"],
    ]);
    await test.service.search?.deleteDocument("a");
    await until("no index", async () => !(await hasIndex(test)));
    await test.service.search?.search({ text: "one" });
    const metrics = (await request(test.url).get("/metrics")).text;
    expect(metrics).to.contain('svc_ingest_chunks_total{source="embedded"} 3');
    expect(metrics).to.contain('svc_search_seconds_count{kind="hybrid"} 1');
    expect(metrics).to.contain("svc_search_hits_count 1");
    expect(metrics).not.to.contain("\nsvc_search_recall ");
  });

  it("without the plugin queue, maintains the indexes in the process, and ends the run when the service stops", async () => {
    const url = await server.database();
    const test = await startService(ragOn(url, ragToml(SMALL)));
    await test.service.search?.ingest("a", texts);
    const admin = new pg.Client({ connectionString: url });
    await admin.connect();
    try {
      await admin.query("begin; lock table svc_chunks in access exclusive mode");
      await until("a run waits for the table", async () => {
        const { rowCount } = await admin.query(
          "select from pg_locks where relation = 'svc_chunks'::regclass and not granted",
        );
        return rowCount === 1;
      });
      const stopped = test[Symbol.asyncDispose]();
      await test.line(({ phase }) => phase === "work");
      await admin.query("commit");
      await stopped;
      const { rows } = await admin.query(
        "select indisvalid as valid from pg_index where indexrelid::regclass::text like 'svc_chunks_hnsw_%'",
      );
      expect(rows).to.deep.equal([{ valid: true }]);
    } finally {
      await admin.end();
    }
    const warnings = test.lines.filter(({ level }) => /^(?:warn|error|fatal)$/.test(String(level)));
    expect(warnings.map(({ message }) => message)).to.deep.equal([
      "[plugin.queue] is not used: queue is not in [plugins] enabled",
    ]);
  });

  it("measures the recall on a schedule, and shows the result in /metrics", async () => {
    const url = await server.database();
    const keys = 'tenant = "-"\nmaintain_every = 0\nrecall_every = 1';
    const enabled = '"metrics", "database", "queue", "rag"';
    await using test = await startService(ragOn(url, ragToml(keys, enabled)));
    await test.service.search?.ingest("a", texts);
    await until("the recall", async () =>
      (await request(test.url).get("/metrics")).text.includes("\nsvc_search_recall 1\n"),
    );
    expect(await searchCheckOf(test)).to.include({ healthy: true });
  });

  it("reports in /ready that row security hides the tenants from its role, unless maintenanceDb is set", async () => {
    const url = await server.database();
    const admin = new pg.Pool({ connectionString: url, max: 2 });
    try {
      await createSearchStore({ db: admin, dimensions: 3, rowSecurity: true }).ensureSchema();
      await admin.query(`
drop role if exists rag_service;
create role rag_service login;
grant usage on schema public to rag_service;
grant select, insert, update, delete on svc_chunks to rag_service`);
      const asService = new URL(url);
      asService.username = "rag_service";
      const toml = ragToml(`${SMALL}row_security = true`);
      {
        await using test = await startService(ragOn(asService.href, toml));
        await until("the note", async () => !(await searchCheckOf(test)).healthy);
        const { http, critical, detail } = await searchCheckOf(test);
        expect([http, critical]).to.deep.equal([200, false]);
        expect(detail).to.match(/on the server; index maintenance failed: row security hides the tenants/);
      }
      const rag = { embed, maintenanceDb: admin };
      await using test = await startService({ ...ragOn(asService.href, toml), rag });
      await test.service.search?.ingest("a", texts);
      await until("the index", () => hasIndex(test));
      expect(await searchCheckOf(test)).to.include({ healthy: true });
    } finally {
      await admin.query("drop owned by rag_service; drop role rag_service");
      await admin.end();
    }
  });

  it("runs in a worker that has no other jobs, and refuses a job of the application with the same task", async () => {
    const url = await server.database();
    const toml = ragToml(SMALL, '"database", "queue", "rag"');
    await using worker = await startService({ ...ragOn(url, toml), role: "worker" });
    await using front = await startService({ ...ragOn(url, toml), role: "server" });
    const { search } = front.service;
    const { id, enqueued } = (await search?.ingestLater("a", "a text")) ?? expect.fail("no search");
    expect([id.length, enqueued]).to.deep.equal([32, true]);
    await until("the job", async () => (await search?.stats())?.chunks === 1);
    expect(worker.service.search).not.to.equal(undefined);
    const taken = startService({ ...ragOn(url, toml), jobs: { "rag:ingest": () => undefined } });
    const refusal = await taken.then(
      () => expect.fail("it started"),
      (error: unknown) => String(error),
    );
    expect(refusal).to.contain("jobs.rag:ingest: is the task of the plugin rag; rename the job");
  });

  it("queues an ingest in the caller's transaction, fails it if the embedder is unavailable, and requires a queue", async () => {
    const url = await server.database();
    const toml = ragToml(SMALL, '"database", "queue", "rag"');
    await using test = await startService({
      ...ragOn(url, toml),
      rag: { embed: () => Promise.reject(new Error("away")) },
    });
    const { search, jobs, db } = test.service;
    await db?.transaction(async (tx) => {
      await search?.ingestLater("a", "a text", { tx, metadata: { kind: "x" } });
      expect(await jobs?.stats()).to.include({ pending: 0, running: 0 });
    });
    const line = await test.line(
      ({ message, task }) => message === "the job failed and will be retried" && task === "rag:ingest",
    );
    expect(line["reason"]).to.contain("the embedder does not answer");
    await using alone = await startService(ragOn(url));
    const refusal = await alone.service.search?.ingestLater("a", "a text").catch((error: unknown) => error);
    expect(refusal).to.have.property("code", "ERR_SVC_SEARCH_QUEUE");
  });
});

import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { RequestContext, runWithContext } from "@svc/context";
import { openTestDatabase } from "@svc/dev-services";
import { ConfigurationError } from "@svc/options";
import { createSearchStore, SearchError } from "@svc/search-store";
import type { Connectable } from "@svc/sql";
import { until } from "@svc/test-support";
import { expect } from "chai";
import pg from "pg";
import request from "supertest";
import { embed, ragOn, ragToml, searchCheckOf } from "./support/rag-service.ts";
import { makeService, startService, type TestServiceOptions } from "./support/test-service.ts";
import { vectorServer } from "./support/vector-server.ts";

const TENANCY = '[plugin.tenancy]\nsources = ["header"]\n';
const MISSING =
  "the server has no pgvector: install it on the server, then run `create extension vector` in this database";
const NOWHERE = "postgres://127.0.0.1:1/nowhere";

async function faultsOf(options: TestServiceOptions): Promise<readonly string[]> {
  try {
    const { service } = await makeService(options);
    await service.start();
    await service.stop();
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.faults.map(({ key, message }) => `${key}: ${message}`);
  }
  return expect.fail("the service started");
}

async function failureOf(work: Promise<unknown> | undefined): Promise<unknown> {
  return work?.then(
    () => expect.fail("it did not fail"),
    (error: unknown) => error,
  );
}

async function withPool<T>(url: string, work: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}

/** Returns a database that refuses connections until it is switched on. */
function lateDatabase(pool: pg.Pool) {
  let isUp = false;
  const db: Connectable = {
    connect() {
      if (isUp) return pool.connect();
      return Promise.reject(Object.assign(new Error("connect"), { code: "ECONNREFUSED" }));
    },
  };
  return { db, answer: () => void (isUp = true), fall: () => void (isUp = false) };
}

describe("the plugin `rag`", function () {
  this.timeout(60_000);
  const server = vectorServer();

  it("refuses to start without an embedder, a tenant or a database, and with embedded_folder in prod", async () => {
    const noDatabase = ragToml("", '"rag"');
    expect(await faultsOf({ toml: noDatabase, env: { DATABASE_URL: NOWHERE } })).to.deep.equal([
      "plugin.rag: has no embedder: pass rag.embed to createService()",
      'plugin.rag.tenant: is required without the plugin tenancy: set it to "-" for a service without tenants',
      "plugins.enabled: contains rag, which needs a database: add database, or pass your own db to createService()",
    ]);
    const both = ragToml('tenant = "-"', '"database", "tenancy", "rag"', TENANCY);
    expect(await faultsOf(ragOn(NOWHERE, both))).to.deep.equal([
      "plugin.rag.tenant: must not be set while the plugin tenancy is enabled: the request or job has the tenant",
    ]);
    const inProd = ragOn(NOWHERE, ragToml('tenant = "-"\nembedded_folder = "/tmp/x"'));
    expect(await faultsOf({ ...inProd, env: { ...inProd.env, SVC_ENV: "prod" } })).to.deep.equal([
      "plugin.rag.embedded_folder: must not be set in prod: use a PostgreSQL server with pgvector",
    ]);
  });

  it("names the key in the file of each invalid option, and an unknown option in code", async () => {
    const wrong = `tenant = "-"\nindex_above = 1\nindex_below = 2\ntable = "${"a".repeat(41)}"\nchunk_overlap = 2000`;
    expect(await faultsOf(ragOn(NOWHERE, ragToml(wrong)))).to.deep.equal([
      "plugin.rag.index_below: must not be above plugin.rag.index_above, which is 1",
      "plugin.rag.table: must be a name of at most 40 bytes, or schema.name",
      "plugin.rag.chunk_overlap: must be less than plugin.rag.chunk_size, which is 1000; it is 2000",
    ]);
    const misspelt = { ...ragOn(NOWHERE), rag: { embd: embed } } as unknown as TestServiceOptions;
    expect((await faultsOf(misspelt)).join("\n")).to.contain("rag.embd: is unknown");
  });

  it("rejects a table with another number of dimensions, and names both numbers", async () => {
    const url = await server.database();
    await withPool(url, (db) => createSearchStore({ db, dimensions: 4 }).ensureSchema());
    expect(await faultsOf(ragOn(url))).to.deep.equal([
      "plugin.rag.table: names a table with an unexpected structure: svc_chunks.embedding must be halfvec(3); it is halfvec(4)",
    ]);
  });

  it("rejects a text configuration that the database does not have, and names its key", async () => {
    const url = await server.database();
    expect(await faultsOf(ragOn(url, ragToml('tenant = "-"\ntext_config = "klingon"')))).to.deep.equal([
      "plugin.rag.text_config: must be a text search configuration of the database, which has no klingon",
    ]);
  });

  it("reports a table with other dimensions in /ready if the database was down at startup, and still runs jobs", async () => {
    const url = await server.database();
    await withPool(url, (db) => createSearchStore({ db, dimensions: 4 }).ensureSchema());
    await withPool(url, async (pool) => {
      const late = lateDatabase(pool);
      let runs = 0;
      await using test = await startService({
        ...ragOn(NOWHERE, ragToml('tenant = "-"', '"queue", "rag"')),
        db: late.db,
        jobs: { hello: () => void runs++ },
      });
      expect(await searchCheckOf(test)).to.include({
        healthy: false,
        detail: "not answering (ECONNREFUSED)",
      });
      const away = await failureOf(test.service.search?.stats());
      expect(away).to.include({ status: 503, detail: "the search is not available: it cannot be opened" });
      late.answer();
      await until("the job is queued", async () => {
        const queued = test.service.jobs?.enqueue({ task: "hello" });
        return (await queued?.catch(() => undefined)) !== undefined;
      });
      await until("the job has run", () => runs > 0);
      expect(await searchCheckOf(test)).to.deep.equal({
        http: 200,
        healthy: false,
        critical: false,
        detail: "svc_chunks.embedding must be halfvec(3); it is halfvec(4)",
      });
      expect(await failureOf(test.service.search?.stats())).to.have.property("status", 503);
    });
  });

  it("returns 503 when the application's own pool loses its database, and reports a missing column", async () => {
    const url = await server.database();
    await withPool(url, async (pool) => {
      const late = lateDatabase(pool);
      late.answer();
      await using test = await startService({
        ...ragOn(NOWHERE, ragToml(undefined, '"rag"')),
        db: late.db,
        routes(app, { search }) {
          app.get("/notes", async (_req, res) => void res.json(await search?.search({ text: "note" })));
        },
      });
      expect((await request(test.url).get("/notes")).status).to.equal(200);
      late.fall();
      const { status, body } = await request(test.url).get("/notes");
      expect([status, (body as { detail: string }).detail]).to.deep.equal([
        503,
        "the database does not answer",
      ]);
      late.answer();
      await pool.query("drop extension vector cascade; create extension vector");
      expect((await searchCheckOf(test)).detail).to.match(/has lost the column embedding/);
    });
  });

  it("uses the tenant of the request, and rejects another tenant and a request without one (SEARCH-6)", async () => {
    const url = await server.database();
    const toml = ragToml("", '"database", "tenancy", "rag"', TENANCY);
    await using test = await startService({
      ...ragOn(url, toml),
      routes(app, { search }) {
        app.put("/notes/:id", async (req, res) => {
          res.json(await search?.ingest(req.params.id, (req.body as { text: string }).text));
        });
        app.get("/notes", async (req, res) => {
          const other = req.query["as"] as string | undefined;
          const hits = await search?.search({ text: "note", tenant: other });
          res.json(hits?.map(({ documentId, content }) => `${documentId}: ${content}`));
        });
      },
    });
    const as = (tenant: string) => ({ "X-Tenant-ID": tenant });
    for (const tenant of ["acme", "globex"]) {
      const { body } = await request(test.url)
        .put("/notes/1")
        .set(as(tenant))
        .send({ text: `a note of ${tenant}` });
      expect(body).to.deep.equal({ chunks: 1, embedded: 1, reused: 0, removed: 0 });
    }
    expect((await request(test.url).get("/notes").set(as("acme"))).body).to.deep.equal(["1: a note of acme"]);
    const { search } = test.service;
    expect((await request(test.url).get("/notes?as=globex").set(as("acme"))).status).to.equal(500);
    const found = await search?.search({ text: "note", tenant: "globex" });
    expect(found?.map(({ content }) => content)).to.deep.equal(["a note of globex"]);
    for (const error of [
      await failureOf(search?.search({ text: "note" })),
      await failureOf(
        runWithContext(new RequestContext({ tenantId: "acme" }), () => search?.stats({ tenant: "globex" })),
      ),
    ]) {
      expect(error).to.be.instanceOf(SearchError).with.property("code", "ERR_SVC_SEARCH_TENANT");
    }
    // The plugin `tenancy` enables row security.
    const [row] = await withPool(url, async (db) => {
      const forced = "select relforcerowsecurity as forced from pg_class where relname = 'svc_chunks'";
      return (await db.query<{ forced: boolean }>(forced)).rows;
    });
    expect(row?.forced).to.equal(true);
  });

  it('stores all documents under one tenant with tenant = "-", without row security', async () => {
    const url = await server.database();
    await using test = await startService(ragOn(url));
    const { search } = test.service;
    await search?.ingest("a", [{ content: "first", meta: { n: 1 } }, { content: "second" }], {
      metadata: { n: 2, kind: "list" },
    });
    const found = await search?.search({ text: "first second", where: { kind: "list", n: { gt: 1 } } });
    expect(found?.map(({ content, meta }) => [content, meta])).to.deep.equal([
      ["second", { n: 2, kind: "list" }],
    ]);
    expect(await search?.stats()).to.deep.equal({ chunks: 2, documents: 1 });
    await withPool(url, async (db) => {
      const { rows } = await db.query(
        "select distinct tenant_id, relforcerowsecurity from svc_chunks, pg_class where relname = 'svc_chunks'",
      );
      expect(rows).to.deep.equal([{ tenant_id: "-", relforcerowsecurity: false }]);
    });
    expect(await search?.deleteDocument("a")).to.equal(2);
    const { body } = await request(test.url).get("/info");
    const { plugins } = body as { plugins: readonly { readonly name: string }[] };
    expect(plugins.find(({ name }) => name === "rag")).to.deep.equal({
      name: "rag",
      table: "svc_chunks",
      dimensions: 3,
      embedder: "letters",
    });
    expect(await searchCheckOf(test)).to.deep.include({ healthy: true, critical: false, http: 200 });
    expect((await searchCheckOf(test)).detail).to.match(/^pgvector \d+\.\d+\.\d+ on the server$/);
  });

  it("returns 503 while the embedder throws, hangs, or returns vectors of the wrong number or length", async () => {
    const url = await server.database();
    let broken: typeof embed | undefined;
    await using test = await startService({
      ...ragOn(url, ragToml('tenant = "-"\nembed_timeout = 0.05')),
      rag: { embed: (texts, info) => (broken ?? embed)(texts, info) },
      routes(app, { search }) {
        app.post("/notes", async (_req, res) => void res.json(await search?.ingest("a", "a text")));
      },
    });
    const faults: readonly (typeof embed)[] = [
      () => Promise.reject(new Error("away")),
      () => new Promise(() => undefined),
      () => [],
      (texts) => texts.map(() => [1, 2]),
    ];
    for (const fault of faults) {
      broken = fault;
      const { status, headers, body } = await request(test.url).post("/notes");
      expect([status, headers["retry-after"], (body as { detail: string }).detail]).to.deep.equal([
        503,
        "5",
        "the embedder does not answer",
      ]);
    }
    broken = undefined;
    expect((await request(test.url).post("/notes")).status).to.equal(200);
  });

  it("without pgvector, returns 503 from searches, reports that in /ready, and serves other routes", async () => {
    await using without = await openTestDatabase({ name: "rag-without-vector" });
    await using test = await startService({
      ...ragOn(without.url),
      routes(app, { search }) {
        app.get("/notes", async (_req, res) => void res.json(await search?.search({ text: "note" })));
        app.get("/other", (_req, res) => void res.json({}));
      },
    });
    expect(await searchCheckOf(test)).to.deep.equal({
      http: 200,
      healthy: false,
      critical: false,
      detail: MISSING,
    });
    const { status, body } = await request(test.url).get("/notes");
    expect([status, (body as { detail: string }).detail]).to.deep.equal([
      503,
      `the search is not available: ${MISSING}`,
    ]);
    expect((await request(test.url).get("/other")).status).to.equal(200);
    const reasons = test.lines.filter(({ message }) => String(message).includes("cannot be stored"));
    expect(reasons).to.have.lengthOf(1);
    await using critical = await startService(ragOn(without.url, ragToml('tenant = "-"\ncritical = true')));
    expect(await searchCheckOf(critical)).to.include({ http: 503, critical: true, healthy: false });
  });

  it("finds pgvector when it is installed while the service runs", async () => {
    const url = await server.database();
    await withPool(url, async (pool) => {
      let isInstalled = false;
      const hidden: Connectable = {
        async connect() {
          const client = await pool.connect();
          return {
            query: (text: string, values?: unknown[]) =>
              client.query(isInstalled ? text : text.replaceAll(/(?<=name = )'vector'/g, "'none'"), values),
            release: (error) => client.release(error),
          };
        },
      };
      await using test = await startService({
        ...ragOn(NOWHERE, ragToml(undefined, '"rag"')),
        db: hidden,
      });
      expect(await searchCheckOf(test)).to.include({ healthy: false, detail: MISSING });
      isInstalled = true;
      await until("the search is ready", async () => (await searchCheckOf(test)).healthy);
      expect(await test.service.search?.ingest("a", "a text")).to.include({ chunks: 1 });
    });
  });

  it("opens its embedded folder at the first use if the server has no pgvector", async () => {
    await using without = await openTestDatabase({ name: "rag-embedded" });
    // Without these flags, V8 takes longer to optimize the WebAssembly module than the test takes to run.
    for (const flag of ["liftoff-only", "no-wasm-tier-up", "no-wasm-dynamic-tiering"])
      setFlagsFromString(`--${flag}`);
    const folder = await mkdtemp(join(tmpdir(), "svc-rag-"));
    try {
      const toml = ragToml(`tenant = "-"\nembedded_folder = "${join(folder, "data")}"`);
      await using test = await startService(ragOn(without.url, toml));
      expect((await searchCheckOf(test)).detail).to.equal("embedded, opened at the first use");
      const { search } = test.service;
      // A call waits at most 15 s for the files of a new folder.
      const stored = () => search?.ingest("a", "an embedded text").catch(() => undefined);
      await until("the folder is open", stored, 100_000);
      expect((await searchCheckOf(test)).detail).to.match(/^pgvector .*, embedded$/);
      await using second = await startService(ragOn(without.url, toml));
      expect(await failureOf(second.service.search?.stats())).to.have.property("status", 503);
      expect(await searchCheckOf(second)).to.include({
        healthy: false,
        critical: false,
        detail: "the embedded database could not be opened: another process uses its folder",
      });
      await test.service.stop();
      expect(await readdir(folder)).to.deep.equal(["data"]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }).timeout(120_000);
});

import { createDatabase } from "@svc/database";
import { openTestLogin } from "@svc/dev-services";
import { createSearchStore, type SpanHook } from "@svc/search-store";
import { expect } from "chai";
import { Pool } from "pg";
import { type Backend, newTable, SHARED } from "../support/backends.ts";
import { contents, numbered, texts } from "../support/chunks.ts";
import { embedded, recordingEmbedder } from "../support/embedder.ts";
import { type Backends, everywhere, once } from "../support/everywhere.ts";
import { failureOf } from "../support/failure.ts";

export function rowCases(backends: Backends): void {
  everywhere(backends, "SEARCH-1 are listed page by page, each once", async ({ emptied: make }) => {
    const store = await make();
    await store.ingestBulk("t", numbered(95));
    await store.ingestBulk("other", numbered(5));
    const seen: unknown[] = [];
    let after: string | undefined;
    do {
      const page = await store.list("t", { limit: 10, after });
      seen.push(...page.chunks.map((each) => each.meta["index"]));
      after = page.next;
    } while (after !== undefined);
    expect(seen).to.deep.equal([...Array(95).keys()]);
    const whole = await store.list("t", { limit: 95 });
    expect(whole.next).to.equal(undefined);
    const found = await store.list("t", {
      filter: { index: { gte: 12, lt: 14 } },
      documentId: "document 0001",
    });
    expect(found.chunks.map((each) => each.content)).to.deep.equal(["text 12", "text 13"]);
  });

  everywhere(
    backends,
    "SEARCH-2 are deleted together with the tenant's index, while rows of other tenants remain",
    async ({ emptied: make }) => {
      const store = await make();
      for (const tenant of ["a", "b"]) {
        await store.ingestBulk(tenant, numbered(3));
        await store.ensureTenantIndex(tenant);
      }
      expect((await store.stats("a")).index).to.deep.include({ valid: true });
      expect(await store.deleteTenant("a")).to.equal(3);
      expect(await store.stats("a")).to.deep.equal({ chunks: 0, documents: 0 });
      expect(await store.stats("b")).to.have.nested.property("index.valid", true);
      expect(await store.dropTenantIndex("b")).to.equal(true);
    },
  );

  once(
    backends,
    "are the only rows that a transaction sees with row security, even without a condition on the tenant",
    async (backend) => {
      await using login = await plainLogin(backend);
      const table = newTable();
      const { embed } = recordingEmbedder();
      const store = await backend.store({ db: login.db, table, embed, rowSecurity: true });
      for (const tenant of ["a", "b"]) {
        await store.ingest(tenant, "d", texts(`text of ${tenant}`));
        await store.ingestBulk(tenant, [{ documentId: "e", content: `more of ${tenant}` }]);
      }
      expect((await failureOf(store.ingestBulk("a", [{ documentId: "e", content: "again" }]))).code).to.equal(
        "ERR_SVC_SEARCH_DUPLICATE",
      );
      expect(await contents(store, "a")).to.deep.equal(["text of a", "more of a"]);
      expect((await store.search("b", { text: "text" })).map((hit) => hit.content)).to.have.members([
        "text of b",
        "more of b",
      ]);
      expect((await login.db.query(`select from ${table}`)).rows).to.have.length(0);
      // The same store, but no statement has an effective condition on the tenant.
      const broken = await backend.store({
        db: withoutCondition(login.db),
        table,
        embed,
        rowSecurity: true,
      });
      expect(await contents(broken, "a")).to.deep.equal(["text of a", "more of a"]);
      expect(await broken.stats("a")).to.include({ chunks: 2, documents: 2 });
      expect(await broken.deleteTenant("a")).to.equal(2);
      expect(await contents(store, "b")).to.deep.equal(["text of b", "more of b"]);
    },
  );

  it("are protected by row security when a database of @svc/database sets the tenant, even in its transactions", async () => {
    for (const { url } of backends.all) {
      if (url === undefined) continue;
      await using login = await openTestLogin({ url, grants: ["grant create on schema public to login"] });
      await using database = createDatabase({ url: login.url, max: 3 });
      const options = { dimensions: 3, table: newTable(), embed: recordingEmbedder().embed };
      const store = createSearchStore({ ...options, db: database, rowSecurity: true });
      await store.ensureSchema();
      await store.ingest("a", "d", texts("text of a"));
      expect(await store.ingestBulk("b", [{ documentId: "e", content: "text of b" }])).to.deep.equal({
        chunks: 1,
      });
      expect(await contents(store, "a")).to.deep.equal(["text of a"]);
      expect((await store.search("b", { text: "text" })).map((hit) => hit.content)).to.deep.equal([
        "text of b",
      ]);
      await database.withTenant("a", async (tx) => {
        const inside = createSearchStore({ ...options, db: tx });
        await inside.ingest("a", "d", texts("new text of a"));
        expect(await contents(inside, "b")).to.deep.equal([]);
        expect((await inside.search("a", { text: "new" })).length).to.equal(1);
      });
      expect(await contents(store, "a")).to.deep.equal(["new text of a"]);
      expect(await store.deleteTenant("b")).to.equal(1);
    }
  });

  it("can be loaded and deleted by a login that does not own the table; the index remains until the owner drops it", async () => {
    for (const { url, store: newStore } of backends.all) {
      if (url === undefined) continue;
      const options = { dimensions: 3, table: newTable(), rowSecurity: true };
      const owner = await newStore(options);
      const grants = [`grant select, insert, delete on ${options.table} to login`];
      await using login = await openTestLogin({ url, grants });
      const pool = new Pool({ connectionString: login.url });
      const client = await pool.connect();
      await client.query("begin; select set_config('svc.tenant', 'a', true)");
      const inside = createSearchStore({ ...options, db: client, rowSecurity: false });
      for (const documentId of ["d", "e"]) {
        await inside.ingestBulk("a", [{ documentId, content: "text", embedding: [1, 2, 3] }]);
      }
      await client.query("commit");
      client.release();
      await owner.ensureTenantIndex("a");
      const store = createSearchStore({ ...options, db: pool });
      expect(await store.deleteTenant("a")).to.equal(2);
      expect(await store.stats("a")).to.deep.include({ chunks: 0, documents: 0 });
      await pool.end();
      expect((await owner.maintainIndexes()).dropped).to.have.length(1);
    }
  });

  it("are stored and found even when a span hook throws", async () => {
    for (const { emptied: make } of backends.all.slice(-1)) {
      const broken = new Error("no tracing today");
      const hooks: SpanHook[] = [
        () => {
          throw broken;
        },
        (_name, _kind, _attributes, run) =>
          run({
            set: () => {
              throw broken;
            },
            trace: undefined,
          }),
        (_name, _kind, _attributes, run) => {
          run({ set: () => undefined, trace: undefined });
          throw broken;
        },
      ];
      const { embed, asked } = recordingEmbedder();
      for (const [index, span] of hooks.entries()) {
        const store = await make({ embed, span });
        expect(await store.ingest("t", `d${index}`, texts("text"))).to.include({ embedded: 1 });
        expect(await store.search("t", { text: "text" })).to.have.length(1);
        const failing = await make({ span, embed: () => Promise.reject(broken) });
        expect(await failureOf(failing.search("t", { text: "text" }))).to.include({ cause: broken });
      }
      expect(asked).to.have.length(2 * hooks.length);
    }
  });

  everywhere(
    backends,
    "are stored and searched in spans that contain no text of documents or queries",
    async ({ emptied: make }) => {
      const spans: unknown[] = [];
      const store = await make({
        embed: (given) => given.map(embedded),
        span: (name, kind, attributes, run) => {
          const all = { ...attributes };
          spans.push([name, kind, all]);
          return run({ set: (more) => void Object.assign(all, more), trace: undefined });
        },
      });
      await store.ingest("t", "d", texts("secret words"));
      await store.ingestBulk("t", [{ documentId: "e", content: "secret too" }]);
      await store.search("t", { text: "secret", filter: { a: 1 }, limit: 3 });
      const of = { "rag.store": SHARED };
      expect(spans).to.deep.equal([
        [
          "rag.ingest",
          "internal",
          { ...of, "rag.document_id": "d", "rag.chunks": 1, "rag.embedded": 1, "rag.reused": 0 },
        ],
        ["rag.ingest", "internal", { ...of, "rag.chunks": 1, "rag.embedded": 1, "rag.reused": 0 }],
        [
          "rag.search",
          "internal",
          { ...of, "rag.limit": 3, "rag.hybrid": true, "rag.filtered": true, "rag.hits": 0 },
        ],
      ]);
    },
  );

  everywhere(
    backends,
    "are covered by a readiness check that names the version of pgvector and is never critical",
    async ({ name, emptied: make }) => {
      const check = (await make()).readiness();
      expect(check).to.include({ name: "search-store", critical: false });
      const result = await check.check(new AbortController().signal);
      expect(result.healthy).to.equal(true);
      const version = String(result.meta?.["pgvector"]);
      expect(version).to.match(/^\d+\.\d+\.\d+$/);
      expect(result.detail).to.equal(
        name === "embedded" ? `pgvector ${version}, embedded` : `pgvector ${version} on the server`,
      );
    },
  );
}

interface Login extends AsyncDisposable {
  readonly db: Backend["db"];
}

/** Creates a login to which row security applies: it is not a superuser. */
async function plainLogin({ db, url }: Backend): Promise<Login> {
  if (url !== undefined) {
    const login = await openTestLogin({ url, grants: ["grant create on schema public to login"] });
    const pool = new Pool({ connectionString: login.url });
    return {
      db: pool,
      async [Symbol.asyncDispose]() {
        await pool.end();
        await login.drop();
      },
    };
  }
  await db.query("create role plain nosuperuser; grant create on schema public to plain; set role plain");
  return {
    db,
    async [Symbol.asyncDispose]() {
      await db.query("reset role");
    },
  };
}

function withoutCondition(db: Backend["db"]): Backend["db"] {
  const broken = (text: string): string =>
    text.replaceAll(/tenant_id = (\$1)(::text)?/g, "($1::text is not null)");
  return {
    query: (text, values) => db.query(broken(text), values),
    async connect() {
      const connection = await db.connect();
      return {
        query: (text, values) => connection.query(broken(text), values),
        release: (error) => connection.release(error),
      };
    },
  };
}

import { setTimeout as pause } from "node:timers/promises";
import { openTestLogin } from "@svc/dev-services";
import type { BulkChunk, NewChunk, SearchStore } from "@svc/search-store";
import { expect } from "chai";
import { Pool } from "pg";
import { type Backend, newTable, useBackends } from "./support/backends.ts";
import { embedded, recordingEmbedder } from "./support/embedder.ts";
import { failureOf } from "./support/failure.ts";

async function contents(store: SearchStore, tenant: string, documentId?: string): Promise<string[]> {
  const { chunks } = await store.list(tenant, { documentId, limit: 1000 });
  return chunks.map((each) => each.content);
}

function texts(...all: string[]): NewChunk[] {
  return all.map((content) => ({ content }));
}

/** Chunks of documents of ten. */
function* numbered(count: number): Generator<BulkChunk> {
  for (let index = 0; index < count; index++) {
    const documentId = `document ${String(Math.floor(index / 10)).padStart(4, "0")}`;
    yield { documentId, content: `text ${index}`, meta: { index }, embedding: [1, index % 7, 2] };
  }
}

describe("a search store", function () {
  this.timeout(30_000);
  const backends = useBackends();

  /** A test that runs on every database that is here. */
  function everywhere(title: string, body: (backend: Backend) => Promise<void>): void {
    it(title, async () => {
      for (const backend of backends.all) {
        try {
          await body(backend);
        } catch (error) {
          if (error instanceof Error) error.message = `${backend.name}: ${error.message}`;
          throw error;
        }
      }
    });
  }

  describe("its table", () => {
    everywhere("is made once, also by several at once, and is there the next time", async ({ db, store }) => {
      const table = newTable();
      const stores = await Promise.all([store({ table }), store({ table }), store({ table })]);
      for (const each of stores) expect(await each.ensureSchema()).to.equal("present");
      const { rows } = await db.query<{ type: string }>(
        `select format_type(atttypid, atttypmod) as type from pg_attribute
         where attrelid = to_regclass($1) and attname = 'embedding'`,
        [table],
      );
      expect(rows).to.deep.equal([{ type: "halfvec(3)" }]);
    });

    everywhere("is the same that the migrations make", async ({ db, store }) => {
      const table = newTable();
      const options = { table, filterKeys: ["kind", "it's"], precision: "full", rowSecurity: true } as const;
      const made = await store({ ...options, table: newTable() });
      for (const { statements } of made.migrations()) {
        for (const statement of statements) await db.query(statement.replaceAll(/chunks_\d+/g, table));
      }
      const again = await store(options);
      expect(await again.ensureSchema()).to.equal("present");
      expect(made.migrations().map((each) => each.name)[0]).to.equal("0001_vector");
    });

    everywhere("is refused when it is another one", async ({ db, store }) => {
      const table = newTable();
      await store({ table });
      const schema = "ERR_SVC_SEARCH_SCHEMA";
      const dimensions = await failureOf(store({ table, dimensions: 4 }));
      expect(dimensions).to.include({
        code: schema,
        message: `${table}.embedding must be halfvec(4); it is halfvec(3)`,
      });
      expect((await failureOf(store({ table, precision: "full" }))).code).to.equal(schema);
      expect((await failureOf(store({ table, textConfig: "english" }))).message).to.contain(
        "it is cut by simple",
      );
      const other = newTable();
      await db.query(`create table ${other} (id int)`);
      expect((await failureOf(store({ table: other }))).code).to.equal(schema);
      expect((await failureOf(store({ textConfig: "klingon" }))).code).to.equal("42704");
    });

    everywhere("is named by the error when it is missing", async ({ db, store }) => {
      const table = newTable();
      const gone = await store({ table });
      await db.query(`drop table ${table}`);
      const code = "ERR_SVC_SEARCH_SCHEMA";
      for (const run of [() => gone.list("t"), () => gone.ingest("t", "d", []), () => gone.stats("t")]) {
        const error = await failureOf(run());
        expect(error.code).to.equal(code);
        expect(error.message).to.equal(
          `the table ${table} is missing: call ensureSchema(), or run migrations() before`,
        );
      }
      const check = await gone.readiness().check(new AbortController().signal);
      expect(check).to.include({ healthy: false, critical: false, detail: "its table is missing" });
    });
  });

  describe("ingest()", () => {
    everywhere("embeds only what changed, and keeps what a text had", async ({ store: make }) => {
      const { embed, asked } = recordingEmbedder();
      const store = await make({ embed });
      const first = await store.ingest("t", "d", texts("alpha", "beta", "alpha"));
      expect(first).to.deep.equal({ chunks: 3, embedded: 2, reused: 0, removed: 0 });
      const same = await store.ingest("t", "d", texts("alpha", "beta", "alpha"));
      expect(same).to.deep.equal({ chunks: 3, embedded: 0, reused: 3, removed: 0 });
      const moved = await store.ingest("t", "d", texts("gamma", "alpha"));
      expect(moved).to.deep.equal({ chunks: 2, embedded: 1, reused: 1, removed: 1 });
      expect(asked).to.deep.equal([["alpha", "beta"], ["gamma"]]);
      expect(await contents(store, "t", "d")).to.deep.equal(["gamma", "alpha"]);
      const hits = await store.search("t", { vector: embedded("alpha"), limit: 1 });
      expect(hits[0]).to.include({ content: "alpha", ordinal: 1 });
      expect(hits[0]?.score).to.be.closeTo(1, 1e-6);
      expect(await store.ingest("t", "d", [])).to.deep.equal({
        chunks: 0,
        embedded: 0,
        reused: 0,
        removed: 2,
      });
    });

    everywhere("writes new metadata and embeddings without embedding anew", async ({ db, store: make }) => {
      const { embed, asked } = recordingEmbedder();
      const table = newTable();
      const store = await make({ embed, table });
      const version = async (): Promise<unknown> =>
        (await db.query(`select xmin::text, created_at from ${table}`)).rows[0];
      await store.ingest("t", "d", [{ content: "alpha", meta: { page: 1 } }]);
      const before = await version();
      await store.ingest("t", "d", [{ content: "alpha", meta: { page: 1 } }]);
      expect(await version(), "nothing is written where nothing changed").to.deep.equal(before);
      await store.ingest("t", "d", [{ content: "alpha", meta: { page: 2 } }]);
      await store.ingest("t", "d", [
        { content: "alpha", meta: { page: 2 }, embedding: new Float32Array([0, 0, 9]) },
      ]);
      expect(asked).to.have.length(1);
      expect((await store.list("t")).chunks[0]?.meta).to.deep.equal({ page: 2 });
      expect((await store.search("t", { vector: [0, 0, 1] }))[0]?.score).to.be.closeTo(1, 1e-6);
    });

    everywhere("embeds all again under the name of another model", async ({ store }) => {
      const { embed } = recordingEmbedder();
      const table = newTable();
      await (await store({ embed, table, embedder: "one" })).ingest("t", "d", texts("alpha"));
      const done = await (await store({ embed, table, embedder: "two" })).ingest("t", "d", texts("alpha"));
      expect(done).to.deep.equal({ chunks: 1, embedded: 1, reused: 0, removed: 0 });
    });

    everywhere("SEARCH-2 reaches the rows of its own tenant and document alone", async ({ store: make }) => {
      const { embed, asked } = recordingEmbedder();
      const store = await make({ embed });
      for (const tenant of ["a", "b"]) {
        for (const document of ["x", "y"]) await store.ingest(tenant, document, texts("one", "two"));
      }
      expect(asked, "no tenant and no document borrows from another").to.have.length(4);
      await store.ingest("a", "x", texts("new"));
      expect(await contents(store, "b")).to.deep.equal(["one", "two", "one", "two"]);
      expect(await contents(store, "a")).to.deep.equal(["new", "one", "two"]);
      expect(await store.deleteDocument("a", "x")).to.equal(1);
      expect(await store.deleteDocument("a", "x")).to.equal(0);
      expect(await contents(store, "b", "x")).to.deep.equal(["one", "two"]);
      expect(await store.deleteTenant("a")).to.equal(2);
      expect(await store.stats("a")).to.deep.equal({ chunks: 0, documents: 0 });
      expect(await store.stats("b")).to.deep.equal({ chunks: 4, documents: 2 });
    });

    everywhere("of one document twice at once ends with one of both whole", async ({ store: make }) => {
      const { embed } = recordingEmbedder();
      const store = await make({ embed });
      const long = ["a", "b", "c", "shared", "e"];
      const short = ["shared", "z"];
      for (let round = 0; round < 5; round++) {
        await Promise.all([store.ingest("t", "d", texts(...long)), store.ingest("t", "d", texts(...short))]);
        expect(await contents(store, "t", "d")).to.deep.oneOf([long, short]);
      }
    });

    everywhere("embeds after all what another one took away meanwhile", async ({ store: make }) => {
      const { embed, asked } = recordingEmbedder();
      const plain = await make({ embed, table: newTable() });
      const table = newTable();
      const other = await make({ embed, table });
      await other.ingest("t", "d", texts("kept"));
      let meddled = false;
      const store = await make({
        table,
        embed: async (given, info) => {
          if (!meddled) await other.deleteDocument("t", "d");
          meddled = true;
          return embed(given, info);
        },
      });
      const done = await store.ingest("t", "d", texts("kept", "new"));
      expect(done).to.deep.equal({ chunks: 2, embedded: 2, reused: 0, removed: 0 });
      expect(asked).to.deep.equal([["kept"], ["new"], ["kept"]]);
      expect(await contents(plain, "t")).to.deep.equal([]);
    });

    everywhere("keeps what was there when embedding fails", async ({ store: make }) => {
      let broken = false;
      const store = await make({
        embed: (given) => {
          if (broken) throw new Error("away");
          return given.map(embedded);
        },
      });
      await store.ingest("t", "d", texts("old"));
      broken = true;
      expect((await failureOf(store.ingest("t", "d", texts("new")))).code).to.equal("ERR_SVC_SEARCH_EMBED");
      expect(await contents(store, "t")).to.deep.equal(["old"]);
    });

    everywhere("takes names and texts as they are", async ({ store: make }) => {
      const { embed } = recordingEmbedder();
      const store = await make({ embed, filterKeys: ["kind"] });
      const tenant = `o'brien"; drop table x; -- \\ {}$1`;
      const documentId = "a,b\"c'd\\e\n😀";
      const chunks = [
        {
          content: "quotes \" ' and \\ and {a,NULL} 😀",
          meta: { 'k"': "\\u0000 'x'", nested: { a: [1, null] } },
        },
        { content: "NULL", meta: { kind: "é".repeat(250) } },
      ];
      await store.ingest(tenant, documentId, chunks);
      const { chunks: listed } = await store.list(tenant);
      expect(listed.map(({ content, meta }) => ({ content, meta }))).to.deep.equal(chunks);
      expect(listed[0]?.documentId).to.equal(documentId);
      expect(listed[0]?.createdAt).to.be.instanceOf(Date);
      const long = [{ content: "x", meta: { kind: "é".repeat(251) } }];
      expect((await failureOf(store.ingest(tenant, documentId, long))).code).to.equal(
        "ERR_SVC_SEARCH_ARGUMENT",
      );
    });

    everywhere("keeps an embedding of full precision in four bytes a number", async ({ db, store: make }) => {
      const table = newTable();
      const store = await make({ table, precision: "full" });
      const embedding = new Float32Array([0.1, 70_000, -3]);
      await store.ingest("t", "d", [{ content: "one", embedding }]);
      await store.ingestBulk("t", [{ documentId: "e", content: "two", embedding }]);
      const { rows } = await db.query<{ embedding: string }>(`select embedding::text from ${table}`);
      expect(rows.map((row) => JSON.parse(row.embedding).map(Math.fround))).to.deep.equal([
        [...embedding],
        [...embedding],
      ]);
    });
  });

  describe("ingestBulk()", () => {
    everywhere("loads what ingest() would, to the last bit", async ({ db, store: make }) => {
      const table = newTable();
      const { embed } = recordingEmbedder();
      const store = await make({ table, embed, embedder: "e" });
      const chunks = [
        { content: "plain", embedding: [0.1, -0.33333, 1e-7] },
        {
          content: "é😀 \\ \" '",
          meta: { a: [1, { b: null }], é: "\\" },
          embedding: [65_504, 0.00006, -2.0009765],
        },
        { content: "embedded here" },
      ];
      await store.ingest("one", "d", chunks);
      const loaded = await store.ingestBulk(
        "two",
        chunks.map((chunk) => ({ ...chunk, documentId: "d" })),
      );
      expect(loaded).to.deep.equal({ chunks: 3 });
      const rowsOf = async (tenant: string): Promise<unknown> =>
        (
          await db.query(
            `select document_id, ordinal, content, encode(content_sha256, 'hex') as hash, meta, embedding::text, tsv::text
             from ${table} where tenant_id = $1 order by ordinal`,
            [tenant],
          )
        ).rows;
      expect(await rowsOf("two")).to.deep.equal(await rowsOf("one"));
    });

    everywhere("numbers the chunks of a document, and embeds in batches", async ({ store: make }) => {
      const { embed, asked } = recordingEmbedder();
      const store = await make({ embed, embedBatch: 300 });
      async function* source(): AsyncGenerator<BulkChunk> {
        await pause(0);
        for (let index = 0; index < 700; index++)
          yield { documentId: index < 400 ? "a" : "b", content: `${index}` };
        yield { documentId: "b", ordinal: 1000, content: "far" };
        yield { documentId: "b", content: "after" };
      }
      expect(await store.ingestBulk("t", source())).to.deep.equal({ chunks: 702 });
      expect(asked.map((each) => each.length)).to.deep.equal([300, 200, 202]);
      const { chunks } = await store.list("t", { documentId: "b", limit: 1000 });
      expect(chunks.map((each) => each.ordinal)).to.deep.equal([...Array(300).keys(), 1000, 1001]);
      expect(await store.ingestBulk("t", [])).to.deep.equal({ chunks: 0 });
    });

    everywhere(
      "keeps nothing when the source fails, when a chunk is wrong or there already",
      async ({ store: make }) => {
        const store = await make();
        const cause = new Error("the file is broken");
        function* failing(): Generator<BulkChunk> {
          yield* numbered(1200);
          throw cause;
        }
        expect(await failureOf(store.ingestBulk("t", failing()))).to.equal(cause);
        function* wrong(): Generator<BulkChunk> {
          yield* numbered(600);
          yield { documentId: "d", content: "" };
        }
        const refused = await failureOf(store.ingestBulk("t", wrong()));
        expect(refused).to.include({
          code: "ERR_SVC_SEARCH_ARGUMENT",
          message: "chunk 600 of the load must have a content: a text that is not empty",
        });
        const nowhere = await failureOf(store.ingestBulk("t", [{ documentId: "", content: "x" }]));
        expect(nowhere.code).to.equal("ERR_SVC_SEARCH_ARGUMENT");
        const none = await failureOf(store.ingestBulk("t", [{ documentId: "d", content: "no embedding" }]));
        expect(none.code).to.equal("ERR_SVC_SEARCH_EMBED");
        expect(await store.stats("t")).to.deep.equal({ chunks: 0, documents: 0 });
        await store.ingestBulk("t", numbered(10));
        const twice = await failureOf(store.ingestBulk("t", numbered(1200)));
        expect(twice.code).to.equal("ERR_SVC_SEARCH_DUPLICATE");
        expect(await store.stats("t")).to.deep.equal({ chunks: 10, documents: 1 });
      },
    );

    everywhere(
      "tells the source that it is left early, and leaves one that hangs",
      async ({ store: make }) => {
        const store = await make();
        let left = 0;
        async function* source(hangs: boolean): AsyncGenerator<BulkChunk> {
          try {
            yield { documentId: "d", content: hangs ? "fine" : "", embedding: [1, 2, 3] };
            await new Promise(() => undefined);
          } finally {
            left += 1;
          }
        }
        expect((await failureOf(store.ingestBulk("t", source(false)))).code).to.equal(
          "ERR_SVC_SEARCH_ARGUMENT",
        );
        expect(left).to.equal(1);
        const caller = new AbortController();
        const reason = new Error("enough");
        const loading = store.ingestBulk("t", source(true), { signal: caller.signal });
        setImmediate(() => caller.abort(reason));
        expect(await failureOf(loading)).to.equal(reason);
        expect(await store.stats("t")).to.deep.equal({ chunks: 0, documents: 0 });
      },
    );

    everywhere("goes by inserts on a connection that cannot COPY", async ({ db, store: make }) => {
      const table = newTable();
      await make({ table });
      const plain = {
        async connect() {
          const connection = await db.connect();
          return {
            query: connection.query.bind(connection),
            release: (error?: Error | boolean) => connection.release(error),
          };
        },
      };
      const store = await make({ table, db: plain });
      expect(await store.ingestBulk("t", numbered(1001))).to.deep.equal({ chunks: 1001 });
      expect((await failureOf(store.ingestBulk("t", numbered(1)))).code).to.equal("ERR_SVC_SEARCH_DUPLICATE");
      expect(await store.stats("t")).to.deep.equal({ chunks: 1001, documents: 101 });
    });

    it("reads no more of the source than the server has taken", async () => {
      for (const backend of backends.all.filter((each) => each.url !== undefined)) {
        const table = newTable();
        const store = await backend.store({ table });
        let read = 0;
        function* source(): Generator<BulkChunk> {
          for (const chunk of numbered(5000)) {
            read += 1;
            yield chunk;
          }
        }
        const lock = await backend.db.connect();
        await lock.query("begin");
        await lock.query(`lock table ${table} in access exclusive mode`);
        const loading = store.ingestBulk("t", source());
        const waiting =
          "select count(*)::int as n from pg_locks where not granted and relation = to_regclass($1)";
        for (;;) {
          const { rows } = await backend.db.query<{ n: number }>(waiting, [table]);
          if ((rows[0]?.n ?? 0) > 0) break;
        }
        await pause(20);
        expect(read).to.be.at.most(500);
        await lock.query("commit");
        lock.release();
        expect(await loading).to.deep.equal({ chunks: 5000 });
      }
    });
  });

  describe("list()", () => {
    everywhere("goes through a tenant's chunks page by page, each once", async ({ store: make }) => {
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
  });

  describe("row security", () => {
    everywhere(
      "shows a transaction its own tenant alone, also by a statement that forgot it",
      async (backend) => {
        await using login = await plainLogin(backend);
        const table = newTable();
        const { embed } = recordingEmbedder();
        const store = await backend.store({ db: login.db, table, embed, rowSecurity: true });
        for (const tenant of ["a", "b"]) {
          await store.ingest(tenant, "d", texts(`text of ${tenant}`));
          await store.ingestBulk(tenant, [{ documentId: "e", content: `more of ${tenant}` }]);
        }
        expect(
          (await failureOf(store.ingestBulk("a", [{ documentId: "e", content: "again" }]))).code,
        ).to.equal("ERR_SVC_SEARCH_DUPLICATE");
        expect(await contents(store, "a")).to.deep.equal(["text of a", "more of a"]);
        expect((await store.search("b", { text: "text" })).map((hit) => hit.content)).to.have.members([
          "text of b",
          "more of b",
        ]);
        expect((await login.db.query(`select from ${table}`)).rows).to.have.length(0);
        // The same store, whose every condition about the tenant is broken.
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
  });

  describe("what it tells", () => {
    everywhere("is a span of every ingest and search, without a text in it", async ({ store: make }) => {
      const spans: unknown[] = [];
      const table = newTable();
      const store = await make({
        table,
        embed: (given) => given.map(embedded),
        span: async (name, attributes, run) => {
          const all = { ...attributes };
          const result = await run((more) => void Object.assign(all, more));
          spans.push([name, all]);
          return result;
        },
      });
      await store.ingest("t", "d", texts("secret words"));
      await store.ingestBulk("t", [{ documentId: "e", content: "secret too" }]);
      await store.search("t", { text: "secret", filter: { a: 1 }, limit: 3 });
      const of = { "rag.store": table };
      expect(spans).to.deep.equal([
        [
          "rag.ingest",
          { ...of, "rag.document_id": "d", "rag.chunks": 1, "rag.embedded": 1, "rag.reused": 0 },
        ],
        ["rag.ingest", { ...of, "rag.chunks": 1, "rag.embedded": 1, "rag.reused": 0 }],
        ["rag.search", { ...of, "rag.limit": 3, "rag.hybrid": true, "rag.filtered": true, "rag.hits": 0 }],
      ]);
    });

    everywhere(
      "to /ready is which pgvector it uses, and is never critical",
      async ({ name, store: make }) => {
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
  });
});

interface Login extends AsyncDisposable {
  readonly db: Backend["db"];
}

/** Somebody who does not pass row security by being a superuser. */
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

import { setTimeout as pause } from "node:timers/promises";
import type { BulkChunk } from "@svc/search-store";
import { expect } from "chai";
import { SHARED } from "../support/backends.ts";
import { numbered } from "../support/chunks.ts";
import { recordingEmbedder } from "../support/embedder.ts";
import { type Backends, everywhere, once } from "../support/everywhere.ts";
import { failureOf } from "../support/failure.ts";

export function bulkCases(backends: Backends): void {
  everywhere(
    backends,
    "stores the same values as ingest(), to the last bit",
    async ({ db, emptied: make }) => {
      const table = SHARED;
      const { embed } = recordingEmbedder();
      const store = await make({ embed, embedder: "e" });
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
    },
  );

  once(backends, "numbers the chunks of a document, and embeds in batches", async ({ emptied: make }) => {
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
    backends,
    "stores no chunks when the source fails, or when a chunk is invalid or already exists",
    async ({ emptied: make }) => {
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
        message: "the content of chunk 600 of the load must be a non-empty string",
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

  once(
    backends,
    "rejects when the server rejects rows, even while the source hangs",
    async ({ emptied: make }) => {
      const store = await make();
      await store.ingestBulk("t", numbered(10));
      async function* hanging(): AsyncGenerator<BulkChunk> {
        yield* numbered(2000);
        await new Promise(() => undefined);
      }
      expect((await failureOf(store.ingestBulk("t", hanging()))).code).to.equal("ERR_SVC_SEARCH_DUPLICATE");
      expect(await store.stats("t")).to.deep.equal({ chunks: 10, documents: 1 });
    },
  );

  everywhere(
    backends,
    "closes the source when it stops early, but does not wait for a source that hangs",
    async ({ emptied: make }) => {
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

  once(backends, "uses inserts on a connection without COPY", async ({ db, emptied: make }) => {
    const plain = {
      async connect() {
        const connection = await db.connect();
        return {
          query: connection.query.bind(connection),
          release: (error?: Error | boolean) => connection.release(error),
        };
      },
    };
    const store = await make({ db: plain });
    expect(await store.ingestBulk("t", numbered(1001))).to.deep.equal({ chunks: 1001 });
    expect((await failureOf(store.ingestBulk("t", numbered(1)))).code).to.equal("ERR_SVC_SEARCH_DUPLICATE");
    expect(await store.stats("t")).to.deep.equal({ chunks: 1001, documents: 101 });
  });

  it("reads from the source only as fast as the server accepts rows", async () => {
    for (const backend of backends.all.filter((each) => each.url !== undefined)) {
      const table = SHARED;
      const store = await backend.emptied();
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
}

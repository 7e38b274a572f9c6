import { expect } from "chai";
import { newTable, SHARED } from "../support/backends.ts";
import { contents, texts } from "../support/chunks.ts";
import { embedded, recordingEmbedder } from "../support/embedder.ts";
import { type Backends, everywhere, once } from "../support/everywhere.ts";
import { failureOf } from "../support/failure.ts";

export function ingestCases(backends: Backends): void {
  everywhere(
    backends,
    "embeds only changed texts, and reuses the embeddings of unchanged texts",
    async ({ emptied: make }) => {
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
    },
  );

  everywhere(
    backends,
    "writes new metadata and embeddings without another call to embed",
    async ({ db, emptied: make }) => {
      const { embed, asked } = recordingEmbedder();
      const table = SHARED;
      const store = await make({ embed });
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
    },
  );

  everywhere(
    backends,
    "embeds all texts again when the option embedder changes",
    async ({ emptied: make }) => {
      const { embed } = recordingEmbedder();
      const one = await make({ embed, embedder: "one" });
      const two = await make({ embed, embedder: "two" });
      await one.ingest("t", "d", texts("alpha"));
      const done = await two.ingest("t", "d", texts("alpha"));
      expect(done).to.deep.equal({ chunks: 1, embedded: 1, reused: 0, removed: 0 });
    },
  );

  everywhere(
    backends,
    "SEARCH-2 affects only the rows of its own tenant and document",
    async ({ emptied: make }) => {
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
    },
  );

  once(
    backends,
    "leaves the chunks of one call when two calls write the same document concurrently",
    async ({ emptied: make }) => {
      const { embed } = recordingEmbedder();
      const store = await make({ embed });
      const long = ["a", "b", "c", "shared", "e"];
      const short = ["shared", "z"];
      for (let round = 0; round < 5; round++) {
        await Promise.all([store.ingest("t", "d", texts(...long)), store.ingest("t", "d", texts(...short))]);
        expect(await contents(store, "t", "d")).to.deep.oneOf([long, short]);
      }
    },
  );

  everywhere(
    backends,
    "embeds a text again if its stored embedding is deleted concurrently",
    async ({ emptied: make }) => {
      const { embed, asked } = recordingEmbedder();
      const other = await make({ embed });
      let meddled = false;
      const store = await make({
        embed: async (given, info) => {
          if (!meddled) await other.deleteDocument("t", "d");
          meddled = true;
          return embed(given, info);
        },
      });
      await other.ingest("t", "d", texts("kept"));
      const done = await store.ingest("t", "d", texts("kept", "new"));
      expect(done).to.deep.equal({ chunks: 2, embedded: 2, reused: 0, removed: 0 });
      expect(asked).to.deep.equal([["kept"], ["new"], ["kept"]]);
    },
  );

  everywhere(backends, "leaves the document unchanged when embedding fails", async ({ emptied: make }) => {
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

  everywhere(
    backends,
    "stores names and content with unusual characters unchanged",
    async ({ store: make }) => {
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
    },
  );

  everywhere(
    backends,
    "stores an embedding with full precision in four bytes per number",
    async ({ db, store: make }) => {
      const table = newTable();
      const store = await make({ table, precision: "full" });
      const embedding = new Float32Array([0.1, 65_503.5, -3]);
      await store.ingest("t", "d", [{ content: "one", embedding }]);
      await store.ingestBulk("t", [{ documentId: "e", content: "two", embedding }]);
      expect(await store.search("t", { vector: embedding })).to.have.length(2);
      const { rows } = await db.query<{ embedding: string }>(`select embedding::text from ${table}`);
      expect(rows.map((row) => JSON.parse(row.embedding).map(Math.fround))).to.deep.equal([
        [...embedding],
        [...embedding],
      ]);
    },
  );
}

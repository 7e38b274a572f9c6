import { createSearchStore, type Hit, type SearchRequest, type SearchStore } from "@svc/search-store";
import { expect } from "chai";
import { type Backend, newTable, type useBackends } from "../support/backends.ts";
import { cosine, direction, seeded } from "../support/random.ts";
import { refusal } from "../support/refusal.ts";
import { planOf, watched } from "../support/watched.ts";

const DIMENSIONS = 8;
const WORDS = ["taxi", "train", "airport", "hotel", "lunch", "paper", "the", "and"];

interface Chunk {
  readonly content: string;
  readonly embedding: readonly number[];
}

export function searchCases(backends: ReturnType<typeof useBackends>): void {
  const chunks: Chunk[] = [];
  const stores = new Map<Backend, { store: SearchStore; table: string }>();
  before("some chunks", async function () {
    this.timeout(60_000);
    const random = seeded(11);
    for (let n = 0; n < 60; n++) {
      const words = Array.from({ length: 6 }, () => WORDS[Math.floor(random() ** 2 * WORDS.length)]);
      chunks.push({ content: words.join(" "), embedding: direction(random, DIMENSIONS) });
    }
    for (const backend of backends.all) {
      const table = newTable();
      const store = await backend.store({ table, dimensions: DIMENSIONS, textConfig: "english" });
      await store.ingest(
        "a",
        "d",
        chunks.map((chunk, n) => ({ ...chunk, meta: { n } })),
      );
      await store.ingest("b", "d", chunks.slice(0, 3));
      stores.set(backend, { store, table });
    }
  });

  const vector = direction(seeded(3), DIMENSIONS);
  /** Returns all ordinals in descending order of similarity, computed in the test. */
  const nearest = (): number[] =>
    chunks
      .map(({ embedding }, n) => ({ n, score: cosine(embedding, vector) }))
      .toSorted((a, b) => b.score - a.score)
      .map(({ n }) => n);
  const ordinals = (hits: readonly Hit[]): number[] => hits.map(({ ordinal }) => ordinal);
  const each = async (
    work: (store: SearchStore, backend: Backend, table: string) => Promise<void>,
  ): Promise<void> => {
    for (const [backend, { store, table }] of stores) await work(store, backend, table);
  };

  it("SEARCH-5 returns the nearest chunks first in semantic search, each with 1 - cosine distance as its score", async () => {
    await each(async (store) => {
      const hits = await store.search("a", { vector, limit: 20 });
      expect(ordinals(hits)).to.deep.equal(nearest().slice(0, 20));
      for (const [n, hit] of hits.entries()) {
        expect(hit.score).to.be.closeTo(cosine(chunks[hit.ordinal]?.embedding ?? [], vector), 2e-3);
        expect(hit).to.deep.include({
          documentId: "d",
          meta: { n: hit.ordinal },
          vectorRank: n + 1,
          textRank: null,
        });
        expect(hit.content).to.equal(chunks[hit.ordinal]?.content);
      }
      const opposite = await store.search("a", { vector: vector.map((each) => -each), limit: 100 });
      expect(opposite).to.have.length(chunks.length);
      expect(opposite.at(-1)?.score).to.be.within(-1, -0.1);
    });
  });

  it("SEARCH-4 returns 5 hits by default", async () => {
    await each(async (store) => {
      expect(await store.search("a", { vector })).to.have.length(5);
    });
  });

  it("requires all words in text search, and returns hits without a score", async () => {
    await each(async (store) => {
      const hits = await store.search("a", { text: "taxi train", limit: 100 });
      const wanted = chunks.flatMap(({ content }, n) =>
        /taxi/.test(content) && /train/.test(content) ? [n] : [],
      );
      expect(wanted).not.to.have.length(0);
      expect(ordinals(hits).toSorted((a, b) => a - b)).to.deep.equal(wanted);
      expect(hits.every(({ score, vectorRank }) => score === null && vectorRank === null)).to.equal(true);
      expect(hits.map(({ textRank }) => textRank)).to.deep.equal(hits.map((_, n) => n + 1));
    });
  });

  it("fuses the ranks of semantic and text search by their weights, and gives every hit a score", async () => {
    await each(async (store) => {
      const [all, byMeaning, byWords] = await Promise.all([
        store.search("a", {
          vector,
          text: "hotel",
          limit: 100,
          candidates: 10,
          rrfK: 20,
          weights: { vector: 2, text: 3 },
        }),
        store.search("a", { vector, limit: 100 }),
        store.search("a", { text: "hotel", limit: 100 }),
      ]);
      const expected = new Map<number, number>();
      // At least `limit` candidates are fused, although `candidates` is only 10.
      for (const [n, hit] of byMeaning.entries()) expected.set(hit.ordinal, 2 / (20 + n + 1));
      for (const [n, { ordinal }] of byWords.entries()) {
        expected.set(ordinal, (expected.get(ordinal) ?? 0) + 3 / (20 + n + 1));
      }
      for (const hit of all) {
        expect(hit.fusedScore).to.be.closeTo(expected.get(hit.ordinal) ?? Number.NaN, 1e-12);
        expect(hit.score).to.be.closeTo(cosine(chunks[hit.ordinal]?.embedding ?? [], vector), 2e-3);
      }
      const fused = all.map(({ fusedScore }) => fusedScore);
      expect(fused).to.deep.equal(fused.toSorted((a, b) => b - a));
      expect(all.some((hit) => hit.textRank !== null && hit.vectorRank !== null)).to.equal(true);
    });
  });

  it("scores a hit found only by text search, and fuses at most `candidates` chunks of each search type", async () => {
    await each(async (store) => {
      const hits = await store.search("a", { vector, text: "hotel", limit: 2, candidates: 2 });
      expect(hits).to.have.length(2);
      const wide = await store.search("a", {
        vector,
        text: "hotel",
        limit: 4,
        candidates: 4,
        weights: { vector: 0.1 },
      });
      const only = wide.find(({ vectorRank }) => vectorRank === null);
      expect(only?.textRank).to.be.a("number");
      expect(only?.score).to.be.a("number");
    });
  });

  it("takes no candidates from a search type with weight 0, but still computes scores from the vector", async () => {
    await each(async (store) => {
      const hits = await store.search("a", { vector, text: "hotel", weights: { vector: 0 } });
      expect(hits.every(({ vectorRank, score }) => vectorRank === null && score !== null)).to.equal(true);
      expect(ordinals(hits)).to.deep.equal(ordinals(await store.search("a", { text: "hotel" })));
      expect(await store.search("a", { vector, weights: { vector: 0 } })).to.deep.equal([]);
    });
  });

  it("uses only the vector if the text is empty or has only stop words", async () => {
    await each(async (store) => {
      const byMeaning = ordinals(await store.search("a", { vector }));
      for (const text of ["the and", "", "  ", "\0", "!!!", "🚕"]) {
        expect(ordinals(await store.search("a", { vector, text })), text).to.deep.equal(byMeaning);
        expect(await store.search("a", { text }), text).to.deep.equal([]);
      }
    });
  });

  it("treats any query as words and never as syntax", async () => {
    await each(async (store) => {
      const typed = [
        "taxi & | ! ( :* <-> '",
        "'; drop table x --",
        '"taxi train',
        "\\",
        "taxi\0",
        "\ud800 taxi",
        "- -",
        "-".repeat(100),
        "- | ".repeat(100),
        '-( "'.repeat(100),
        "or or",
        "😀🚕".repeat(500),
      ];
      for (const text of typed) {
        expect(await store.search("a", { text }), text).to.be.an("array");
        expect(await store.search("a", { text, vector }), text).not.to.have.length(0);
      }
      expect(await store.search("a", { text: "taxi\0" })).not.to.have.length(0);
      const longest = "taxi ".repeat(3276);
      expect(await store.search("a", { text: longest })).not.to.have.length(0);
      // Only the first 64 words of a page are used, so that its length cannot cost seconds.
      const page = `${"taxi train ".repeat(40)} nowhere`;
      expect(ordinals(await store.search("a", { text: page }))).to.deep.equal(
        ordinals(await store.search("a", { text: "taxi train ".repeat(32) })),
      );
      const different = Array.from({ length: 2300 }, (_, n) => `w${n}`).join(" ");
      expect(await store.search("a", { text: different })).to.deep.equal([]);
    });
  });

  it("applies minScore after the limit, and excludes hits without a score", async () => {
    await each(async (store) => {
      const hits = await store.search("a", { vector, limit: 10 });
      const minScore = hits[4]?.score ?? Number.NaN;
      expect(ordinals(await store.search("a", { vector, limit: 10, minScore }))).to.deep.equal(
        ordinals(hits).slice(0, 5),
      );
      expect(await store.search("a", { text: "taxi", minScore: -1 })).to.deep.equal([]);
      const negative = await store.search("a", { vector, limit: 100 });
      expect(negative.some(({ score }) => score !== null && score < 0)).to.equal(true);
    });
  });

  it("returns a chunk with an all-zero embedding last and without a score, and excludes it with minScore", async () => {
    for (const { db, store: newStore } of backends.all) {
      const table = newTable();
      const store = await newStore({ table, dimensions: 3 });
      await store.ingest("a", "d", [{ content: "opposite", embedding: [-1, 0, 0] }]);
      const connection = await db.connect();
      await connection.query(
        `insert into ${table} (tenant_id, document_id, ordinal, content, content_sha256, embedding)
         values ('a', 'd', 1, 'nothing', '', '[0,0,0]')`,
      );
      connection.release();
      const hits = await store.search("a", { vector: [1, 0, 0] });
      expect(hits.map(({ content, score }) => [content, score])).to.deep.equal([
        ["opposite", -1],
        ["nothing", null],
      ]);
      expect(await store.search("a", { vector: [1, 0, 0], minScore: -1 })).to.have.length(1);
      expect((await store.recall("a")).queries).to.equal(1);
    }
  });

  it("SEARCH-3 sends one statement with efSearch 100 by default, and leaves no setting on the connection", async () => {
    await each(async (_, { db }, table) => {
      const seen = watched(db);
      const store = createSearchStore({ db: seen, dimensions: DIMENSIONS, table, textConfig: "english" });
      await store.search("a", { vector, text: "taxi", filter: { n: { gt: 3 } } });
      await store.search("a", { vector, efSearch: 250 });
      expect(seen.sent).to.have.length(2);
      expect(seen.sent[0]?.values).to.include("100");
      expect(seen.sent[1]?.values).to.include("250");
      expect(seen.sent[0]?.text.match(/tenant_id = \$1/g)).to.have.length(3);
      // Check that the connection keeps no setting.
      const connection = await db.connect();
      const { rows } = await connection.query(
        "select current_setting('hnsw.ef_search') as ef, current_setting('hnsw.iterative_scan') as scan",
      );
      connection.release();
      expect(rows[0]).to.deep.equal({ ef: "40", scan: "off" });
    });
  });

  it("SEARCH-1 reads rows by the primary key if the tenant has no approximate index, with and without a filter", async () => {
    await each(async (_, { db }, table) => {
      const connection = await db.connect();
      // Simulate a large table: the planner would scan a small table sequentially.
      await connection.query("set enable_seqscan = off");
      connection.release();
      const seen = watched(db);
      const store = createSearchStore({ db: seen, dimensions: DIMENSIONS, table, textConfig: "english" });
      await store.search("b", { vector });
      await store.search("b", { vector, filter: { n: 1, kind: { exists: false } } });
      for (const sent of seen.sent) {
        const plan = await planOf(db, sent);
        expect(plan).to.match(
          new RegExp(`(Index Scan using ${table}_pkey on ${table} c|Bitmap Index Scan on ${table}_pkey)`),
        );
        expect(plan).to.match(/Index Cond: \(tenant_id = 'b'::text\)/);
        expect(plan).to.match(/Limit\n\s+->  Sort\n\s+Sort Key: \(\(c\.embedding <=>/);
        expect(plan).not.to.match(/Seq Scan|_tsv_idx/);
      }
      const again = await db.connect();
      await again.query("reset enable_seqscan");
      again.release();
    });
  });

  const REFUSED: readonly (readonly [code: string, request: SearchRequest, says: RegExp])[] = [
    ["ARGUMENT", {}, /needs a vector, a text or both/],
    ["ARGUMENT", { vector, limit: 0 }, /^limit must be a whole number from 1 to 100; it is 0/],
    ["ARGUMENT", { vector, limit: -1 }, /^limit/],
    ["ARGUMENT", { vector, limit: 101 }, /^limit/],
    ["ARGUMENT", { vector, limit: 1e9 }, /^limit/],
    ["ARGUMENT", { vector, limit: 1.5 }, /^limit/],
    ["ARGUMENT", { vector, limit: "5" as never }, /^limit/],
    ["ARGUMENT", { vector, efSearch: 0 }, /^efSearch must be a whole number from 1 to 1000/],
    ["ARGUMENT", { vector, efSearch: 1001 }, /^efSearch/],
    ["ARGUMENT", { vector, candidates: 0 }, /^candidates/],
    ["ARGUMENT", { vector, minScore: Number.NaN }, /^minScore must be a number from -1 to 1/],
    ["ARGUMENT", { vector, minScore: 2 }, /^minScore/],
    ["ARGUMENT", { vector, rrfK: -1 }, /^rrfK/],
    ["ARGUMENT", { vector, weights: { vector: -1 } }, /^weights\.vector/],
    ["ARGUMENT", { vector, weights: { vector: 0, text: 0 } }, /^weights must not both be 0/],
    ["ARGUMENT", { vector, weights: { words: 1 } as never }, /^unknown member "words" in weights/],
    ["ARGUMENT", { vector, tenant: "b" } as never, /^unknown member "tenant" in a search/],
    ["ARGUMENT", { text: 5 as never }, /must be a string/],
    ["ARGUMENT", { text: "taxi ".repeat(25_000) }, /at most 16384 bytes/],
    ["ARGUMENT", { text: "taxi", signal: {} as never }, /AbortSignal/],
    ["VECTOR", { vector: [1, 2] }, /must have 8 dimensions; it has 2/],
    ["VECTOR", { vector: [...vector.slice(1), Number.NaN] }, /finite/],
    ["VECTOR", { vector: [...vector.slice(1), "1" as never] }, /finite/],
    ["VECTOR", { vector: Array(DIMENSIONS).fill(0) as number[] }, /zeros/],
    ["VECTOR", { vector: "[1]" as never }, /array/],
  ];
  it("SEARCH-4 rejects an invalid request before anything is sent", async () => {
    const seen = watched({ connect: () => Promise.reject(new Error("sent")) });
    const store = createSearchStore({ db: seen, dimensions: DIMENSIONS });
    for (const [code, request, says] of REFUSED) {
      const error = await refusal(() => store.search("a", request));
      expect(error.code).to.equal(`ERR_SVC_SEARCH_${code}`);
      expect(error.message).to.match(says);
    }
  });

  it("SEARCH-6 rejects searches and index operations without a tenant", async () => {
    const store = createSearchStore({
      db: watched({ connect: () => Promise.reject(new Error("sent")) }),
      dimensions: 3,
    });
    for (const tenant of [undefined, null, "", " ", 5, ["a"], "a\0"] as never[]) {
      for (const call of [
        () => store.search(tenant, { text: "a" }),
        () => store.recall(tenant),
        () => store.ensureTenantIndex(tenant),
        () => store.dropTenantIndex(tenant),
      ]) {
        expect((await refusal(call)).code).to.equal("ERR_SVC_SEARCH_TENANT");
      }
    }
  });

  it("TRACE-12 embeds a text once inside the span of the search, and never for a faulty filter or an aborted request", async () => {
    await each(async (_, { db }, table) => {
      const asked: string[] = [];
      const spans: object[] = [];
      const store = createSearchStore({
        db,
        dimensions: DIMENSIONS,
        table,
        textConfig: "english",
        embed: (texts) => {
          asked.push(...texts);
          return texts.map(() => vector);
        },
        span: (name, kind, attributes, run) => {
          const all = { name, kind, ...attributes };
          spans.push(all);
          return run({ set: (more) => void Object.assign(all, more), trace: undefined });
        },
      });
      const hits = await store.search("a", { text: " hotel ", filter: { n: { gte: 0 } } });
      expect(hits.every(({ score }) => score !== null)).to.equal(true);
      expect(await store.search("a", { text: "the" })).to.have.length(5);
      expect(asked).to.deep.equal(["hotel", "the"]);
      await store.search("a", { text: "hotel", weights: { vector: 0 } });
      await store.search("a", { text: "hotel", vector });
      await refusal(() => store.search("a", { text: "hotel", filter: { n: { near: 1 } as never } }));
      const gone = AbortSignal.abort(new Error("gone"));
      expect(
        await store.search("a", { text: "hotel", signal: gone }).catch((error: unknown) => error),
      ).to.equal(gone.reason);
      expect(asked).to.have.length(2);
      expect(spans[0]).to.include({
        name: "rag.search",
        kind: "internal",
        "rag.limit": 5,
        "rag.hybrid": true,
        "rag.filtered": true,
        "rag.hits": 5,
      });
      expect(JSON.stringify(spans)).not.to.contain("hotel");
    });
  });
}

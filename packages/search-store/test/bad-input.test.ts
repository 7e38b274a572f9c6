import { ConfigurationError } from "@svc/options";
import {
  createSearchStore,
  MAX_CONTENT_BYTES,
  type SearchStore,
  type SearchStoreOptions,
} from "@svc/search-store";
import { badTenantIds, goodTenantIds } from "@svc/test-support";
import { expect } from "chai";
import { failureOf } from "./support/failure.ts";

/** Returns a database that rejects all statements and records them in `asked`. */
function silent(): { readonly db: SearchStoreOptions["db"]; readonly asked: string[] } {
  const asked: string[] = [];
  const query = (text: string): Promise<never> => {
    asked.push(text);
    return Promise.reject(new Error("nothing was to be asked"));
  };
  return { asked, db: { query } };
}

/** Casts a value of a wrong type, as plain JavaScript may pass it. */
function wrong<T>(value: unknown): T {
  return value as T;
}

describe("a search store", () => {
  const { db, asked } = silent();
  const store = createSearchStore({ db, dimensions: 2 });
  const full = createSearchStore({ db, dimensions: 2, precision: "full" });

  afterEach(() => {
    expect(asked).to.deep.equal([]);
  });

  const operations: Record<string, (store: SearchStore, tenant: string) => Promise<unknown>> = {
    ingest: (each, tenant) => each.ingest(tenant, "d", []),
    ingestBulk: (each, tenant) => each.ingestBulk(tenant, []),
    deleteDocument: (each, tenant) => each.deleteDocument(tenant, "d"),
    deleteTenant: (each, tenant) => each.deleteTenant(tenant),
    list: (each, tenant) => each.list(tenant),
    stats: (each, tenant) => each.stats(tenant),
    search: (each, tenant) => each.search(tenant, { text: "x" }),
    ensureTenantIndex: (each, tenant) => each.ensureTenantIndex(tenant),
    dropTenantIndex: (each, tenant) => each.dropTenantIndex(tenant),
    recall: (each, tenant) => each.recall(tenant),
  };
  for (const [name, run] of Object.entries(operations)) {
    it(`SEARCH-6 rejects ${name}() without a valid tenant`, async () => {
      for (const tenant of ["", undefined, null, 5, {}, ["a"], ...Object.values(badTenantIds)]) {
        const error = await failureOf(run(store, wrong(tenant)));
        expect(error.code, JSON.stringify(tenant)).to.equal("ERR_SVC_SEARCH_TENANT");
      }
    });
  }

  it("accepts every valid tenant id and passes it to the database (AUTH-39)", async () => {
    for (const tenant of goodTenantIds) {
      const each = silent();
      await createSearchStore({ db: each.db, dimensions: 2 })
        .stats(tenant)
        .catch(() => undefined);
      expect(each.asked, tenant).to.not.deep.equal([]);
    }
  });

  it("rejects a document id that cannot be stored", async () => {
    for (const id of ["", undefined, 7, "a\0", "\udc00", "é".repeat(513)]) {
      for (const run of [
        () => store.ingest("t", wrong(id), []),
        () => store.deleteDocument("t", wrong(id)),
      ]) {
        expect((await failureOf(run())).code, String(id)).to.equal("ERR_SVC_SEARCH_ARGUMENT");
      }
    }
  });

  it("rejects malformed chunks, empty strings, and characters that PostgreSQL cannot store", async () => {
    const circular: Record<string, unknown> = {};
    circular["self"] = circular;
    const chunks = [
      null,
      "text",
      {},
      { content: 5 },
      { content: "" },
      { content: " \n" },
      { content: "a\0b" },
      { content: "\ud83d" },
      { content: "é".repeat(MAX_CONTENT_BYTES / 2 + 1) },
      { content: "x", text: "y" },
      { content: "x", meta: [] },
      { content: "x", meta: null },
      undefined,
      { content: "x", meta: new Map([["a", 1]]) },
      { content: "x", meta: circular },
      { content: "x", meta: { big: 1n } },
      { content: "x", meta: { toJSON: () => "text" } },
      { content: "x", meta: { a: "\0" } },
      { content: "x", meta: { "\udc00": 1 } },
      { content: "x", meta: { a: "m".repeat(65_536) } },
    ];
    for (const [index, chunk] of chunks.entries()) {
      const error = await failureOf(store.ingest("t", "d", wrong([chunk])));
      expect(error.code, `chunk ${index}`).to.equal("ERR_SVC_SEARCH_ARGUMENT");
    }
    for (const list of [
      undefined,
      {},
      "abc",
      Array(2),
      Array.from({ length: 10_001 }, () => ({ content: "x" })),
    ]) {
      const error = await failureOf(store.ingest("t", "d", wrong(list)));
      expect(error.code).to.equal("ERR_SVC_SEARCH_ARGUMENT");
    }
  });

  it("rejects embeddings with a wrong type or length, with only zeros, or with invalid numbers", async () => {
    const cases: [SearchStore, unknown][] = [
      [store, [1]],
      [store, [1, 2, 3]],
      [store, "[1,2]"],
      [store, { length: 2, 0: 1, 1: 2 }],
      [store, new Float64Array([1, 2])],
      [store, [1, NaN]],
      [store, [Infinity, 1]],
      [store, ["1", 2]],
      [store, [1, null]],
      [store, Array.from({ length: 2 })],
      [store, [0, 0]],
      [store, [0, -0]],
      [store, [65_505, 1]],
      [store, [1e-8, 1e-8]],
      [full, [65_505, 1]],
      [full, [1e39, 1]],
      [full, [1e-8, 1e-8]],
      [full, [1e-30, 1e-30]],
    ];
    for (const [each, embedding] of cases) {
      const error = await failureOf(each.ingest("t", "d", wrong([{ content: "x", embedding }])));
      expect(error.code, String(embedding)).to.equal("ERR_SVC_SEARCH_VECTOR");
      expect(error.message).to.match(/^the embedding of chunk 0 /);
    }
  });

  it("rejects a vector that half precision cannot hold with any precision, because the index has half precision", async () => {
    for (const each of [store, full]) {
      for (const [vector, fault] of [
        [[0, 70_000], "must not contain numbers beyond 65504"],
        [[0, 1e-9], "contains only numbers that round to zero in half precision"],
      ] as const) {
        const chunks = [{ content: "x", embedding: vector }];
        const advice = `${fault}: scale the vector to a length of 1`;
        expect(await failureOf(each.search("t", { vector }))).to.include({
          code: "ERR_SVC_SEARCH_VECTOR",
          message: `the vector of the search ${advice}`,
        });
        expect(await failureOf(each.ingest("t", "d", chunks))).to.include({
          code: "ERR_SVC_SEARCH_VECTOR",
          message: `the embedding of chunk 0 ${advice}`,
        });
      }
    }
  });

  it("rejects an invalid page size and an invalid cursor", async () => {
    for (const limit of [0, -1, 1.5, 1001, 1e9, NaN, "5"]) {
      const error = await failureOf(store.list("t", { limit: wrong(limit) }));
      expect(error.code, String(limit)).to.equal("ERR_SVC_SEARCH_ARGUMENT");
    }
    for (const after of [
      "",
      "x",
      5,
      "W10",
      Buffer.from('["d",-1]').toString("base64url"),
      "W".repeat(9000),
    ]) {
      const error = await failureOf(store.list("t", { after: wrong(after) }));
      expect(error.message, String(after)).to.equal(
        "after must be the value of `next` from the previous page",
      );
    }
    expect((await failureOf(store.list("t", wrong({ offset: 5 })))).message).to.contain(
      'unknown member "offset"',
    );
  });

  it("rejects an invalid signal, and sends nothing if the signal is already aborted", async () => {
    const error = await failureOf(store.ingest("t", "d", [], { signal: wrong({}) }));
    expect(error.code).to.equal("ERR_SVC_SEARCH_ARGUMENT");
    const reason = new Error("enough");
    const signal = AbortSignal.abort(reason);
    expect(await failureOf(store.ingest("t", "d", [{ content: "x" }], { signal }))).to.equal(reason);
  });

  it("rejects unknown, invalid and contradictory options", () => {
    const cases: [Record<string, unknown>, RegExp][] = [
      [{}, /dimensions/],
      [{ dimensions: 0 }, /dimensions/],
      [{ dimensions: 4001 }, /dimensions/],
      [{ dimensions: 3, db: {} }, /db/],
      [{ dimensions: 3, table: "a.b.c" }, /table/],
      [{ dimensions: 3, table: "x".repeat(41) }, /table/],
      [{ dimensions: 3, textConfig: "simple'; drop" }, /textConfig/],
      [{ dimensions: 3, precision: "bit" }, /precision/],
      [{ dimensions: 3, indexAbove: 10, indexBelow: 20 }, /indexBelow/],
      [{ dimensions: 3, filterKeys: ["a\0"] }, /filterKeys/],
      [{ dimensions: 3, rowSecurity: { setting: "tenant" } }, /setting/],
      [{ dimensions: 3, embedder: "" }, /embedder/],
      [{ dimensions: 3, limits: 1 }, /limits/],
    ];
    for (const [options, message] of cases) {
      expect(() => createSearchStore(wrong({ db, ...options })), JSON.stringify(options)).to.throw(
        ConfigurationError,
        message,
      );
    }
  });
});

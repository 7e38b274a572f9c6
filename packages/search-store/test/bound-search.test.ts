import { RequestContext, runWithContext } from "@svc/context";
import { ConfigurationError } from "@svc/options";
import {
  bindSearch,
  type BindSearchOptions,
  createMaintenance,
  ingestHandler,
  type MaintenanceOptions,
  type SearchEvent,
  searchCheck,
  SearchError,
  type SearchStore,
} from "@svc/search-store";
import { expect } from "chai";
import { failureOf } from "./support/failure.ts";

/** Returns a store that records its calls and does nothing else. */
function recordingStore(answers: Partial<Record<keyof SearchStore, unknown>> = {}) {
  const calls: unknown[][] = [];
  const store = new Proxy({} as SearchStore, {
    get: (_, name: keyof SearchStore) =>
      String(name) === "then"
        ? undefined
        : (...given: unknown[]) => {
            calls.push([name, ...given]);
            const answer = answers[name];
            return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
          },
  });
  return { store, calls };
}

function bound(given: Partial<BindSearchOptions> = {}) {
  const ingested = { chunks: 1, embedded: 1, reused: 0, removed: 0 };
  const { store, calls } = recordingStore({ ingest: ingested, search: [], deleteDocument: 1, stats: {} });
  return { search: bindSearch({ store: () => store, ...given }), calls };
}

const inTenant = <T>(tenantId: string | undefined, work: () => T): T =>
  runWithContext(new RequestContext({ tenantId }), work);

describe("bindSearch()", () => {
  it("SEARCH-6 takes the tenant of the context, else the argument, else the option", async () => {
    const { search, calls } = bound();
    await inTenant("acme", () => search.stats());
    await inTenant("acme", () => search.stats({ tenant: "acme" }));
    await search.stats({ tenant: "globex" });
    await inTenant(undefined, () => search.deleteDocument("a", { tenant: "globex" }));
    await inTenant("acme", () => search.search({ text: "a" }));
    const fixed = bound({ tenant: "-" });
    await fixed.search.stats();
    await inTenant("acme", () => fixed.search.stats());
    expect([...calls, ...fixed.calls].map(([, tenant]) => tenant)).to.deep.equal(
      "acme acme globex globex acme - acme".split(" "),
    );
  });

  it("SEARCH-6 rejects a call without a tenant, and a call whose tenant differs from the context's", async () => {
    const { search, calls } = bound();
    for (const [call, message] of [
      [() => search.search({ text: "a" }), /^a tenant is required/],
      [() => search.ingest("a", "b"), /^a tenant is required/],
      [() => search.ingestLater("a", "b"), /^a tenant is required/],
      [() => inTenant("acme", () => search.stats({ tenant: "globex" })), /is not the tenant of the request/],
      [() => bound({ tenant: "-" }).search.stats({ tenant: "globex" }), /is not the tenant of the request/],
    ] as const) {
      const error = await failureOf(call());
      expect(error).to.be.instanceOf(SearchError).with.property("code", "ERR_SVC_SEARCH_TENANT");
      expect((error as Error).message).to.match(message);
    }
    expect(calls).to.deep.equal([]);
  });

  it("splits a text, and adds the metadata to each chunk", async () => {
    const { search, calls } = bound({ tenant: "-", chunkSize: 20, chunkOverlap: 0 });
    const { signal } = new AbortController();
    await search.ingest("a", "first one\n\nsecond one", { metadata: { kind: "x" }, signal });
    await search.ingest("b", [{ content: "c", meta: { n: 1 } }, { content: "d" }], {
      metadata: { n: 2, m: 3 },
    });
    expect(calls).to.deep.equal([
      [
        "ingest",
        "-",
        "a",
        [
          { content: "first one", meta: { kind: "x" } },
          { content: "second one", meta: { kind: "x" } },
        ],
        { signal },
      ],
      [
        "ingest",
        "-",
        "b",
        [
          { content: "c", meta: { n: 1, m: 3 } },
          { content: "d", meta: { n: 2, m: 3 } },
        ],
        { signal: undefined },
      ],
    ]);
    expect(search.split("first one\n\nsecond one")).to.deep.equal(["first one", "second one"]);
  });

  it("passes `where` as the filter and `efSearch` with its default, and rejects unknown members, including `filter`", async () => {
    const { search, calls } = bound({ tenant: "-", efSearch: 40 });
    await search.search({ text: "a", where: { kind: "x" } });
    await search.search({ vector: [1], efSearch: 7 });
    expect(calls.map(([, , request]) => request)).to.deep.equal([
      { text: "a", filter: { kind: "x" }, efSearch: 40 },
      { vector: [1], filter: undefined, efSearch: 7 },
    ]);
    const filtered = { text: "a", filter: { kind: "x" } } as never;
    for (const call of [
      search.search(filtered),
      search.ingest("a", "b", { meta: {} } as never),
      search.ingest("a", " "),
      search.ingestLater("a", " "),
      search.ingestLater("", "b"),
    ]) {
      expect(await failureOf(call)).to.have.property("code", "ERR_SVC_SEARCH_ARGUMENT");
    }
  });

  it("queues a job with a text for its tenant, and the handler of the job ingests the text", async () => {
    const jobs: unknown[][] = [];
    const queue = {
      enqueue: (...given: unknown[]) => {
        jobs.push(given);
        return Promise.resolve({ id: "1", enqueued: true });
      },
    };
    const { search, calls } = bound({ queue, inlineChunks: 2 });
    const tx = { query: () => Promise.reject(new Error("unused")) };
    await search.ingestLater("a", "b", { tenant: "acme", metadata: { n: 1 }, tx });
    const payload = { document: "a", text: "b", metadata: { n: 1 } };
    expect(jobs).to.deep.equal([[{ task: "rag:ingest", payload, tenantId: "acme" }, { tx }]]);
    const { signal } = new AbortController();
    await inTenant("acme", () => ingestHandler(search)(payload, { signal }));
    expect(calls).to.deep.equal([["ingest", "acme", "a", [{ content: "b", meta: { n: 1 } }], { signal }]]);
    expect(await failureOf(ingestHandler(search)({ text: 1 }, { signal }))).to.have.property(
      "code",
      "ERR_SVC_SEARCH_ARGUMENT",
    );
    expect([search.isLarge(2), search.isLarge(3), bound().search.isLarge(1000)]).to.deep.equal([
      false,
      true,
      false,
    ]);
  });

  it("rejects a text or metadata that its job could not store", async () => {
    const jobs: unknown[] = [];
    const queue = {
      enqueue: (job: unknown) => {
        jobs.push(job);
        return Promise.resolve({ id: "1", enqueued: true });
      },
    };
    const { search } = bound({ tenant: "-", queue, filterKeys: ["kind"], chunkSize: 16, chunkOverlap: 0 });
    const wide = bound({ tenant: "-", queue, chunkSize: 100_000 }).search;
    for (const [call, message] of [
      [
        search.ingestLater("a", "b", { metadata: { a: "x".repeat(70_000) } }),
        /^the metadata of the document has/,
      ],
      [search.ingestLater("a", "b", { metadata: { kind: "x".repeat(501) } }), /filter key/],
      [
        search.ingestLater("a", "b", { metadata: { a: "\0" } }),
        /^the metadata of the document must not contain NUL/,
      ],
      [search.ingestLater("a", "b", { metadata: "ab" as never }), /must be a JSON object/],
      [search.ingestLater("a", "b\0"), /must not contain NUL/],
      [search.ingestLater("a", "b \ud800"), /unpaired surrogate/],
      [search.ingestLater("a", "fifteen letters ".repeat(10_001)), /at most 10000 chunks/],
      [wide.ingestLater("a", "漢".repeat(99_999)), /has 299997 bytes/],
    ] as const) {
      const error = await failureOf(call);
      expect(error).to.be.instanceOf(SearchError).with.property("code", "ERR_SVC_SEARCH_ARGUMENT");
      expect(error.message).to.match(message);
    }
    expect(await failureOf(search.ingestLater("a", "b", { tenant: "" }))).to.have.property(
      "code",
      "ERR_SVC_SEARCH_TENANT",
    );
    expect(jobs).to.deep.equal([]);
  });

  it("rejects metadata that is not an object, and passes invalid chunks to the store unchanged", async () => {
    const { search, calls } = bound({ tenant: "-" });
    for (const content of ["text", [{ content: "a" }]]) {
      const error = await failureOf(search.ingest("a", content, { metadata: "ab" as never }));
      expect(error).to.have.property("code", "ERR_SVC_SEARCH_ARGUMENT");
    }
    expect(calls).to.deep.equal([]);
    const wrong = [null, { content: "a", meta: "ab" }, { content: "a", meta: new Map() }];
    await search.ingest("a", wrong as never, { metadata: { n: 1 } });
    expect(calls[0]?.[3]).to.deep.equal(wrong);
  });

  it("throws a 503 problem for every operation while the database does not answer", async () => {
    const away = Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
    const { store } = recordingStore({ ingest: away, search: away, deleteDocument: away, stats: away });
    const search = bindSearch({ store: () => store, tenant: "-" });
    for (const call of [
      search.ingest("a", "b"),
      search.search({ text: "a" }),
      search.deleteDocument("a"),
      search.stats(),
    ]) {
      expect(await failureOf(call)).to.include({
        status: 503,
        detail: "the database does not answer",
        cause: away,
      });
    }
  });

  it("reports ingests and the kind of each search, and ignores a listener that throws", async () => {
    const events: SearchEvent[] = [];
    const { search } = bound({
      tenant: "-",
      onEvent(event) {
        events.push(event);
        throw new Error("the listener failed");
      },
    });
    await search.ingest("a", "b");
    await search.search({ text: "a" });
    await search.search({ vector: [1] });
    await search.search({ text: "a", weights: { vector: 0 } });
    await search.search({ text: "a", weights: { text: 0 } });
    const kinds = events.flatMap((event) => (event.type === "searched" ? [event.kind] : []));
    expect(events[0]).to.deep.equal({ type: "ingested", embedded: 1, reused: 0 });
    expect(kinds).to.deep.equal(["hybrid", "vector", "text", "vector"]);
  });

  it("rejects invalid options", () => {
    const { store } = recordingStore();
    for (const [options, message] of [
      [{ chunkOverlap: 1000 }, "chunkOverlap: must be less than chunkSize"],
      [{ tenant: "" }, "tenant: must be a tenant id"],
      [{ efSearch: 0 }, "efSearch: must be a whole number from 1 to 1000"],
    ] as const) {
      expect(() => bindSearch({ store: () => store, ...options })).to.throw(ConfigurationError, message);
    }
  });
});

describe("createMaintenance()", () => {
  const sizes = ["a", "b", "c"].map((tenant) => ({ tenant, chunks: 9 }));

  function maintenance(
    answers: Parameters<typeof recordingStore>[0],
    more: Partial<MaintenanceOptions> = {},
  ) {
    const { store, calls } = recordingStore({ largestTenants: sizes, ...answers });
    const events: SearchEvent[] = [];
    const made = createMaintenance({
      store: () => store,
      onEvent: (event) => void events.push(event),
      ...more,
    });
    return { made, calls, events };
  }

  it("measures the largest tenants in turn, and reports a low recall until a measurement is better", async () => {
    let nowMs = 0;
    const answer = { recall: 0.5, queries: 10 };
    const more = { recallEverySeconds: 60, efSearch: 40, now: () => nowMs };
    const { made, calls, events } = maintenance({ recall: answer }, more);
    for (; nowMs < 240_000; nowMs += 60_000) await made.measure();
    const measured = calls.filter(([name]) => name === "recall");
    expect(measured.map(([, tenant]) => tenant)).to.deep.equal(["a", "b", "c", "a"]);
    expect(measured[0]?.[2]).to.deep.equal({ efSearch: 40 });
    expect(events).to.deep.equal(Array.from({ length: 4 }, () => ({ type: "measured", recall: 0.5 })));
    expect(made.notes()).to.deep.equal(["recall 0.500 is below 0.95"]);
    const check = searchCheck({ check: async () => ({ healthy: true, detail: "fine" }) }, made, true);
    expect(await check.check(new AbortController().signal)).to.deep.equal({
      healthy: false,
      critical: false,
      detail: "fine; recall 0.500 is below 0.95",
    });
    answer.recall = 0.99;
    await made.measure();
    expect(made.notes()).to.deep.equal([]);
  });

  it("reports a failed run until one succeeds, and does nothing without a store or tenants", async () => {
    const answers: Parameters<typeof recordingStore>[0] = {
      maintainIndexes: new SearchError("ERR_SVC_SEARCH_INDEX", "row security hides the tenants"),
      largestTenants: [],
    };
    const { store, calls } = recordingStore(answers);
    const opened: SearchStore[] = [];
    const made = createMaintenance({ store: () => opened[0] });
    await made.maintain();
    expect(calls).to.deep.equal([]);
    opened.push(store);
    await made.maintain();
    expect(made.notes()).to.deep.equal(["index maintenance failed: row security hides the tenants"]);
    answers.maintainIndexes = { created: [], dropped: [], kept: [] };
    await made.maintain();
    await made.measure();
    expect(made.notes()).to.deep.equal([]);
    expect(calls.map(([name]) => name)).to.deep.equal([
      "maintainIndexes",
      "maintainIndexes",
      "largestTenants",
    ]);
  });

  it("stops reporting a problem after three intervals, because the next runs may be in other processes", async () => {
    let nowMs = 0;
    const denied = Object.assign(new Error("denied"), { code: "42501" });
    const failed = new SearchError("ERR_SVC_SEARCH_INDEX", "1 indexes failed", {
      cause: new AggregateError([new SearchError("ERR_SVC_SEARCH_INDEX", "index", { cause: denied })]),
    });
    const { made } = maintenance(
      { maintainIndexes: failed, recall: { recall: 0.5, queries: 10 } },
      { maintainEverySeconds: 60, recallEverySeconds: 600, now: () => nowMs },
    );
    await made.maintain();
    await made.measure();
    const fault = "index maintenance failed: 1 indexes failed (SQLSTATE 42501)";
    const low = "recall 0.500 is below 0.95";
    nowMs = 179_999;
    expect(made.notes()).to.deep.equal([fault, low]);
    nowMs = 180_000;
    expect(made.notes()).to.deep.equal([low]);
    nowMs = 1_800_000;
    expect(made.notes()).to.deep.equal([]);
  });

  it("reports a reason that both failures share only once, so that it fits into /ready", async () => {
    const hidden = new SearchError(
      "ERR_SVC_SEARCH_INDEX",
      "row security hides the tenants from this database role: use a role with BYPASSRLS",
    );
    const { made } = maintenance({ maintainIndexes: hidden, largestTenants: hidden });
    await made.maintain();
    await made.measure();
    const [note, ...others] = made.notes();
    expect(note).to.equal(`index maintenance and recall measurement failed: ${hidden.message}`);
    expect(others).to.deep.equal([]);
    expect(`pgvector 0.8.0 on the server, 2 index(es) being built; ${note}`).to.have.length.below(200);
  });

  it("stop() resolves when the running work ends, or immediately after hurry()", async () => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    for (const end of [undefined, () => resolve({})]) {
      const { made } = maintenance({ maintainIndexes: promise });
      made.start();
      void made.maintain();
      let isStopped = false;
      const stopped = made.stop().then(() => (isStopped = true));
      await Promise.resolve();
      expect(isStopped).to.equal(false);
      if (end === undefined) made.hurry();
      else end();
      await stopped;
    }
  });
});

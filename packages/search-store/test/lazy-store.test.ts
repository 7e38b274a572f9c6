import { createLazyStore, SearchError, type SearchStore } from "@svc/search-store";
import { ConfigurationError } from "@svc/options";
import { SchemaError } from "@svc/sql";
import { expect } from "chai";
import { failureOf } from "./support/failure.ts";

const db = { query: () => Promise.reject(new Error("unused")) };
const { signal } = new AbortController();
const differs = new SearchError("ERR_SVC_SEARCH_SCHEMA", "the table differs");
const lacks = new SearchError("ERR_SVC_SEARCH_EXTENSION", "the server has no pgvector");
const away = Object.assign(new Error("postgres://app:secret@db is away"), { code: "ECONNREFUSED" });

/** Returns a lazy store whose first attempts to open fail with these errors. */
function lazyStore(...errors: Error[]) {
  const warnings: object[] = [];
  const store = {
    ensureSchema: () => {
      const error = errors.shift();
      return error === undefined ? Promise.resolve("present") : Promise.reject(error);
    },
    readiness: () => ({ check: () => ({ healthy: true, detail: "open" }) }),
  } as unknown as SearchStore;
  const none = (): void => undefined;
  const logger = {
    debug: none,
    info: none,
    error: none,
    fatal: none,
    warn: (each: object) => void warnings.push(each),
  };
  return { lazy: createLazyStore({ create: () => store, db, logger }), store, warnings };
}

describe("createLazyStore()", () => {
  it("opens the store once, in the first call of prepare(), store() or check()", async () => {
    for (const use of ["prepare", "store", "check"] as const) {
      const { lazy, store } = lazyStore();
      expect(lazy.opened()).to.equal(undefined);
      if (use === "check") expect(await lazy.check(signal)).to.deep.equal({ healthy: true, detail: "open" });
      else await lazy[use]();
      expect(lazy.opened()).to.equal(store);
      expect(await lazy.store()).to.equal(store);
    }
  });

  it("rejects prepare() if the table differs, but not while the server is unreachable or lacks pgvector", async () => {
    expect(await failureOf(lazyStore(differs).lazy.prepare())).to.be.instanceOf(SchemaError);
    for (const error of [away, lacks]) {
      const { lazy, store, warnings } = lazyStore(error);
      await lazy.prepare();
      expect(warnings).to.have.lengthOf(1);
      expect(JSON.stringify(warnings)).not.to.contain("secret");
      expect(await lazy.store()).to.equal(store);
    }
  });

  it("does not reject a second prepare() if the table differs, but reports it in check()", async () => {
    const { lazy, warnings } = lazyStore(away, differs, differs);
    await lazy.prepare();
    await lazy.prepare();
    expect(await lazy.check(signal)).to.deep.equal({ healthy: false, detail: "the table differs" });
    expect(warnings).to.deep.equal([{ reason: "ECONNREFUSED" }, { reason: "the table differs" }]);
  });

  it("rejects the first prepare() for an invalid option; after a later one, check() names the option", async () => {
    const wrong = new ConfigurationError("a", [{ key: "textConfig", message: "must be another" }]);
    expect(await failureOf(lazyStore(wrong).lazy.prepare())).to.equal(wrong);
    const { lazy } = lazyStore(away, wrong, wrong);
    await lazy.prepare();
    await lazy.prepare();
    expect((await lazy.check(signal)).detail).to.equal("textConfig must be another");
  });

  it("reports in check() why the store is not open, without addresses, and logs a missing pgvector once", async () => {
    const { lazy, warnings } = lazyStore(away, differs, lacks, lacks);
    const details = [];
    for (let probe = 0; probe < 5; probe++) details.push((await lazy.check(signal)).detail);
    expect(details).to.deep.equal([
      "not answering (ECONNREFUSED)",
      "the table differs",
      "the server has no pgvector",
      "the server has no pgvector",
      "open",
    ]);
    expect(warnings).to.deep.equal([{ reason: "the server has no pgvector" }]);
  });

  it("rejects store() with a 503 problem while the store cannot be opened, and after it is closed", async () => {
    const { lazy } = lazyStore(lacks, differs, away);
    for (const detail of ["the server has no pgvector", "the table differs"]) {
      const error = await failureOf(lazy.store());
      expect(error).to.include({ status: 503, detail: `the search is not available: ${detail}` });
    }
    expect(await failureOf(lazy.store())).to.include({
      status: 503,
      detail: "the search is not available: it cannot be opened",
      cause: away,
    });
    await lazy.close();
    expect(await failureOf(lazy.store())).to.include({ status: 503, detail: "the service is shutting down" });
    const nowhere = createLazyStore({ create: () => expect.fail("there is no database") });
    expect(await failureOf(nowhere.store())).to.include({
      detail: "the search is not available: there is no database",
    });
    expect(await nowhere.check(signal)).to.deep.equal({ healthy: false, detail: "there is no database" });
  });
});

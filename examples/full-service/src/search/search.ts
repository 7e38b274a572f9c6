import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { CheckResult, Logger, ReadinessCheck, SpanHook } from "@svc/context";
import type { Database } from "@svc/database";
import { serviceUnavailable } from "@svc/problem";
import { createSearchStore, hasVector, SearchError, type SearchStore } from "@svc/search-store";
import type { EmbeddedDatabase } from "@svc/search-store/pglite";
import { ensureEmbeddedFiles } from "./embedded-files.ts";
import { demoEmbed, dimensions, embedderName } from "./demo-embedder.ts";

/** A PostgreSQL inside this process, used if the service's own has no pgvector. */
export interface EmbeddedSearch {
  /** Folder of its files. Default: a temporary folder. */
  readonly dataDir?: string | undefined;
}

/** Options of {@link createSearch}. */
export interface SearchOptions {
  readonly db: Database;
  /** The embedded database for a server without pgvector. Default: none; then there is no search without pgvector. */
  readonly embedded?: EmbeddedSearch | undefined;
  /** Adds texts to the store each time it is opened. Default: none. */
  readonly fill?: ((store: SearchStore) => Promise<void>) | undefined;
  readonly log: Logger;
  /** Makes a span of each ingest and search. Default: none. */
  readonly span?: SpanHook | undefined;
}

/** The texts of all tenants, opened at the first use. */
export interface Search {
  /** @throws ProblemError 503 without a search index, or while the service stops */
  store(): Promise<SearchStore>;
  /** Opens the store in the background; errors are logged. */
  openSoon(): void;
  /** Reports where the texts are stored; never critical. */
  readonly check: ReadinessCheck;
  stop(): Promise<void>;
}

interface Opened {
  readonly store: SearchStore;
  /** Closes an embedded database; the service closes its own database. */
  close(): Promise<void>;
}

/** How long a request waits for the store to open. */
const patienceMs = 15_000;
/** Pause after a failed attempt to open the store, because opening an embedded database blocks this process. */
const restMs = 5_000;

/**
 * Creates the store of documents: a table of the service's database if its server has pgvector, else a table of an
 * embedded PGlite, which takes seconds and half a gigabyte to start and belongs to this process alone. The store is
 * therefore opened at the first use, and the service does not wait for it.
 */
export function createSearch({ db, embedded, fill, log, span }: SearchOptions): Search {
  let opening: Promise<Opened> | undefined;
  let opened: Opened | undefined;
  let failed: { readonly why: string; readonly at: number } | undefined;
  const ending = new AbortController();

  async function open(): Promise<Opened> {
    const found = (await onServer()) ?? (await embeddedOrFailed());
    try {
      await fill?.(found.store);
      return found;
    } catch (error) {
      await found.close();
      throw error;
    }
  }

  async function onServer(): Promise<Opened | undefined> {
    if (!(await hasVector(db))) return undefined;
    const store = storeOn(db);
    try {
      await store.ensureSchema();
    } catch (error) {
      if (!(error instanceof SearchError) || error.code !== "ERR_SVC_SEARCH_EXTENSION") throw error;
      log.warn({ reason: error.message }, "the server's pgvector cannot be used");
      return undefined;
    }
    return { store, close: async () => {} };
  }

  async function embeddedOrFailed(): Promise<Opened> {
    if (embedded === undefined) throw off();
    if (failed !== undefined && performance.now() - failed.at < restMs) throw notNow();
    try {
      const found = await inProcess(embedded);
      failed = undefined;
      return found;
    } catch (error) {
      if (ending.signal.aborted) throw stopping();
      failed = { why: reasonOf(error), at: performance.now() };
      log.warn({ err: error }, "the embedded search could not be opened");
      throw notNow();
    }
  }

  async function inProcess({ dataDir }: EmbeddedSearch): Promise<Opened> {
    if (dataDir !== undefined) return inFolder(dataDir);
    const passing = await mkdtemp(join(tmpdir(), "svc-search-"));
    const remove = (): Promise<void> => rm(passing, { recursive: true, force: true, maxRetries: 3 });
    try {
      const found = await inFolder(join(passing, "data"));
      return {
        store: found.store,
        async close() {
          await found.close();
          await remove();
        },
      };
    } catch (error) {
      await remove();
      throw error;
    }
  }

  async function inFolder(dataDir: string): Promise<Opened> {
    const { openEmbedded } = await import("@svc/search-store/pglite");
    // Other users of the computer must not read the tenants' texts.
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    await ensureEmbeddedFiles(dataDir, ending.signal);
    const database = await openEmbedded({ dataDir });
    try {
      const store = storeOn(database);
      await store.ensureSchema();
      return { store, close: () => database.close() };
    } catch (error) {
      await database.close();
      throw error;
    }
  }

  function storeOn(place: Database | EmbeddedDatabase): SearchStore {
    return createSearchStore({
      db: place,
      dimensions,
      textConfig: "english",
      embed: demoEmbed,
      embedder: embedderName,
      filterKeys: ["category"],
      rowSecurity: true,
      logger: log,
      span,
    });
  }

  async function whole(): Promise<Opened> {
    if (ending.signal.aborted) throw stopping();
    opening ??= open().then(
      (found) => (opened = found),
      (error: unknown) => {
        // Let the next call try again: the database may start after the service.
        opening = undefined;
        throw error;
      },
    );
    return opening;
  }

  async function check(signal: AbortSignal): Promise<CheckResult> {
    if (opened !== undefined) return opened.store.readiness().check(signal);
    if (opening !== undefined) return { healthy: true, detail: "opening" };
    if (failed !== undefined) return { healthy: false, detail: `could not be opened: ${failed.why}` };
    if (await hasVector(db)) return { healthy: true, detail: "pgvector on the server, opened at first use" };
    return {
      healthy: true,
      detail: embedded === undefined ? "off: the server has no pgvector" : "embedded, opened at first use",
    };
  }

  return {
    async store() {
      if (opened !== undefined && !ending.signal.aborted) return opened.store;
      const enough = new AbortController();
      const late = sleep(patienceMs, undefined, { signal: enough.signal }).then(() => {
        throw notYet();
      });
      try {
        return (await Promise.race([whole(), late])).store;
      } finally {
        enough.abort();
      }
    },
    openSoon() {
      void whole().catch((error: unknown) => {
        // A failure of the embedded database is logged already.
        if (failed === undefined && !ending.signal.aborted)
          log.warn({ err: error }, "the search could not be opened yet");
      });
    },
    check: { name: "search", critical: false, check },
    async stop() {
      ending.abort();
      const found = await opening?.catch(() => undefined);
      await found?.close();
    },
  };
}

function stopping(): Error {
  return serviceUnavailable("the service is shutting down");
}

function notYet(): Error {
  return serviceUnavailable("the search index is being opened", { retryAfterSeconds: 5 });
}

function notNow(): Error {
  return serviceUnavailable("the search index cannot be opened", { retryAfterSeconds: restMs / 1000 });
}

/** Returns the cause for `/ready`, without paths, because `/ready` is public. */
function reasonOf(error: unknown): string {
  const code = error instanceof SearchError ? error.code : undefined;
  if (code === "ERR_SVC_SEARCH_PEER") return "the packages of the embedded database are not installed";
  if (code === "ERR_SVC_SEARCH_EMBEDDED") return "another process uses its folder";
  return "see the log";
}

function off(): Error {
  return serviceUnavailable("search is not available: the database server has no pgvector", {
    retryAfterSeconds: 60,
  });
}

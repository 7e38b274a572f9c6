import type { CheckResult, Logger } from "@svc/context";
import { ConfigurationError, defineOptions, kinds as k, type OptionsOf } from "@svc/options";
import { isProblemError, serviceUnavailable } from "@svc/problem";
import { endsWithin, safeLogger, singleFlight } from "@svc/resilience";
import { type Database, databaseKind, safeErrorText, SchemaError } from "@svc/sql";
import { type OpenedFolder, openFolder } from "../embedded/open-folder.ts";
import { SearchError } from "../errors.ts";
import type { SearchStore } from "../store.ts";

const lazyOptions = defineOptions("createLazyStore()", {
  /** Creates the store on a database, once for each database that is tried. Required. */
  create: { kind: k.func<(db: Database) => SearchStore>() },
  /** The database of the service. Default: none; the embedded database then stores the texts. */
  db: { kind: k.optional(databaseKind) },
  /** Folder of an embedded database for a server without pgvector. Default: none; such a server then has no search. */
  embeddedFolder: { kind: k.optional(k.string()) },
  /** Logs where the texts are stored, and why they cannot be. Default: none. */
  logger: { kind: k.optional(k.objectWith<Logger>("a logger", "debug", "info", "warn", "error")) },
});

/** Options of {@link createLazyStore}. */
export type LazyStoreOptions = OptionsOf<typeof lazyOptions>;

/** A store that is opened when its server responds, or at its first use. */
export interface LazyStore {
  /** Returns the store if it is open. */
  opened(): SearchStore | undefined;
  /** Returns the store, opening it if necessary. @throws ProblemError 503 while it cannot be opened */
  store(): Promise<SearchStore>;
  /**
   * Opens the store on the server, for the start of a service. Without pgvector, or while the server does not respond, the
   * first probe or use opens the store instead, so that the start does not wait.
   *
   * @throws SchemaError for an existing table that differs, and ConfigurationError for a text configuration that the server
   *   does not have, at the first attempt only: a later failure must not block the other tables of a running service
   */
  prepare(): Promise<void>;
  /** Reports the state for `/ready`, and opens the store if its server has pgvector by now. */
  check(signal: AbortSignal): Promise<CheckResult>;
  /** Closes the embedded database. The caller closes the database that it passed as `db`. */
  close(): Promise<void>;
}

/** Longest time that a call waits for the store to open, in milliseconds. */
const PATIENCE_MS = 15_000;
/** Pause after a failed attempt to open the embedded database, which blocks this process, in milliseconds. */
const PAUSE_MS = 5000;

/**
 * Opens a store on the server if it has pgvector, else in an embedded database if `folder` is set. Sends no statement before
 * `prepare()`, `check()` or the first use.
 *
 * @throws ConfigurationError
 */
export function createLazyStore(given: LazyStoreOptions): LazyStore {
  const { create, db, embeddedFolder, logger: log } = lazyOptions.resolve(given);
  const logger = safeLogger(log);
  const closing = new AbortController();
  let opened: SearchStore | undefined;
  let folder: OpenedFolder | undefined;
  let failed: { readonly detail: string; readonly atMs: number } | undefined;
  let lacking: string | undefined;
  let isPrepared = false;

  /** Returns the store on the server; undefined if the server has no pgvector. */
  const onServer = singleFlight(async (): Promise<SearchStore | undefined> => {
    if (opened !== undefined || db === undefined) return opened;
    const store = create(db);
    try {
      await store.ensureSchema();
    } catch (error) {
      if (!(error instanceof SearchError) || error.code !== "ERR_SVC_SEARCH_EXTENSION") throw error;
      // Log each cause once, not at every probe.
      if (lacking !== error.message) {
        const message = "the texts of the search cannot be stored on the database server";
        logger?.warn({ reason: error.message }, message);
      }
      lacking = error.message;
      return undefined;
    }
    lacking = undefined;
    return (opened = store);
  });

  const inFolder = singleFlight(async (): Promise<SearchStore> => {
    if (opened !== undefined) return opened;
    if (embeddedFolder === undefined) throw unavailable(lacking ?? "there is no database");
    if (failed !== undefined && performance.now() - failed.atMs < PAUSE_MS) throw notNow();
    try {
      const made = await openFolder(embeddedFolder, closing.signal);
      folder = made;
      const store = create(made.db);
      await store.ensureSchema();
      closing.signal.throwIfAborted();
      failed = undefined;
      logger?.info({ folder: embeddedFolder }, "the search uses an embedded database");
      return (opened = store);
    } catch (error) {
      await folder?.close();
      folder = undefined;
      if (closing.signal.aborted) throw stopping();
      failed = { detail: detailOf(error), atMs: performance.now() };
      logger?.warn({ err: error }, "the embedded database of the search could not be opened");
      throw notNow();
    }
  });

  async function open(): Promise<SearchStore> {
    try {
      return (await onServer()) ?? (await inFolder());
    } catch (error) {
      if (isProblemError(error)) throw error;
      throw unavailable(textOf(error) ?? "it cannot be opened", error);
    }
  }

  async function check(signal: AbortSignal): Promise<CheckResult> {
    try {
      const store = opened ?? (await onServer());
      if (store !== undefined) return await store.readiness().check(signal);
    } catch (error) {
      return down(textOf(error) ?? `not answering (${safeErrorText(error)})`);
    }
    if (embeddedFolder === undefined) return down(lacking ?? "there is no database");
    if (failed !== undefined) return down(`the embedded database could not be opened: ${failed.detail}`);
    return {
      healthy: true,
      detail: inFolder.pending ? "embedded, being opened" : "embedded, opened at the first use",
    };
  }

  return {
    opened: () => opened,
    async store() {
      if (closing.signal.aborted) throw stopping();
      if (opened !== undefined) return opened;
      const opening = open();
      if (!(await endsWithin(PATIENCE_MS, opening))) throw notYet();
      return opening;
    },
    async prepare() {
      const isFirst = !isPrepared;
      isPrepared = true;
      try {
        await onServer();
      } catch (error) {
        if (isFirst && error instanceof ConfigurationError) throw error;
        if (isFirst && error instanceof SearchError && error.code === "ERR_SVC_SEARCH_SCHEMA") {
          throw new SchemaError("search-store", [error.message]);
        }
        const reason = textOf(error) ?? safeErrorText(error);
        logger?.warn({ reason }, "the search could not be opened yet");
      }
    },
    check,
    async close() {
      closing.abort();
      // Wait for an embedded database that is still being opened: `inFolder` closes it after the abort.
      if (inFolder.pending) await inFolder().catch(() => undefined);
      await folder?.close();
    },
  };
}

function down(detail: string): CheckResult {
  return { healthy: false, detail };
}

/** Returns the fault of the settings or the server; undefined for an error of the connection or of a statement. */
function textOf(error: unknown): string | undefined {
  if (error instanceof SearchError) return error.message;
  if (!(error instanceof ConfigurationError)) return undefined;
  return error.faults.map(({ key, message }) => `${key} ${message}`).join("; ");
}

/** Returns the cause for `/ready`, without paths. */
function detailOf(error: unknown): string {
  const code = error instanceof SearchError ? error.code : undefined;
  if (code === "ERR_SVC_SEARCH_PEER") return "its packages are not installed";
  if (code === "ERR_SVC_SEARCH_EMBEDDED") return "another process uses its folder";
  return textOf(error) ?? safeErrorText(error);
}

function unavailable(detail: string, cause?: unknown): Error {
  // A connection error may be temporary; an operator must resolve any other error.
  const isAway = cause !== undefined && textOf(cause) === undefined;
  const options = {
    ...(!isAway && { code: "ERR_SVC_SEARCH_EXTENSION" }),
    cause,
    retryAfterSeconds: isAway ? 5 : 60,
  };
  return serviceUnavailable(`the search is not available: ${detail}`, options);
}

function stopping(): Error {
  return serviceUnavailable("the service is shutting down");
}

function notYet(): Error {
  return serviceUnavailable("the search is being opened", { retryAfterSeconds: 5 });
}

function notNow(): Error {
  return serviceUnavailable("the search cannot be opened", { retryAfterSeconds: PAUSE_MS / 1000 });
}

import { type Database, sqlStateOf } from "@svc/sql";
import { query } from "./access.ts";
import { type SearchError, searchError } from "./errors.ts";

/** State of pgvector on a server. */
export interface Extension {
  /** Version in this database, if the extension is created. */
  readonly installed: string | undefined;
  /** Version that `create extension` would create. */
  readonly available: string | undefined;
  /** Whether the search_path finds its types. */
  readonly reachable: boolean;
}

/** The command that creates the extension. */
export const CREATE_EXTENSION = "create extension if not exists vector";

// Version 0.8 introduced iterative scans, which continue until enough rows are found.
const LEAST = [0, 8];
const SELECT = `
select (select extversion from pg_catalog.pg_extension where extname = 'vector') as installed,
  (select default_version from pg_catalog.pg_available_extensions where name = 'vector') as available,
  to_regtype('halfvec') is not null as reachable`;

interface ExtensionRow extends Record<string, unknown> {
  readonly installed: string | null;
  readonly available: string | null;
  readonly reachable: boolean;
}

export async function extensionOf(db: Database): Promise<Extension> {
  const [row] = (await query<ExtensionRow>(db, SELECT)).rows;
  return {
    installed: row?.installed ?? undefined,
    available: row?.available ?? undefined,
    reachable: row?.reachable === true,
  };
}

/** Returns whether a server has pgvector 0.8 or later, created in this database or available to create. */
export async function hasVector(db: Database): Promise<boolean> {
  const { installed, available } = await extensionOf(db);
  const version = installed ?? available;
  return version !== undefined && isEnough(version);
}

/** @throws SearchError `ERR_SVC_SEARCH_EXTENSION` that states what to do */
export function checkExtension({ installed, available, reachable }: Extension): void {
  const version = installed ?? available;
  if (version === undefined) {
    throw lacking(
      "the server has no pgvector: install it on the server, then run `create extension vector` in this database",
    );
  }
  if (!isEnough(version)) {
    const remedy =
      installed === undefined
        ? "install a later version on the server"
        : "run `alter extension vector update` after installing it";
    throw lacking(`pgvector ${version} is too old; at least ${LEAST.join(".")} is needed: ${remedy}`);
  }
  if (installed !== undefined && !reachable) {
    throw lacking(
      "pgvector is in a schema that is not on the search_path: add that schema to the search_path",
    );
  }
}

/** Returns a clear error for a refused `create extension`, and any other error unchanged. */
export function explained(error: unknown, before: Extension): unknown {
  const state = sqlStateOf(error);
  if (before.installed !== undefined || (state !== "42501" && state !== "58P01" && state !== "0A000"))
    return error;
  return lacking(
    "this database role lacks the privilege to create pgvector: use a role that has it, and run `create extension vector` in this database",
    error,
  );
}

function isEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > (LEAST[0] ?? 0) || (major === LEAST[0] && minor >= (LEAST[1] ?? 0));
}

function lacking(message: string, cause?: unknown): SearchError {
  return searchError("ERR_SVC_SEARCH_EXTENSION", message, cause);
}

import { createHash } from "node:crypto";
import { IdentifierError } from "./errors.ts";

// NAMEDATALEN - 1. PostgreSQL truncates a longer name with only a notice, so two names may become the same.
const MAX_BYTES = 63;

/**
 * Returns a name quoted for use in SQL: `jobs` becomes `"jobs"`. Quoting preserves upper case, which PostgreSQL would
 * otherwise fold: `identifier("Jobs")` and `identifier("jobs")` are different tables.
 * @throws IdentifierError for a name that is empty, longer than 63 bytes in UTF-8, or contains NUL or an unpaired surrogate
 */
export function identifier(name: string): string {
  if (typeof name !== "string") throw new IdentifierError(`a name must be a string; it is ${typeof name}`);
  const fault = faultOf(name);
  if (fault !== undefined) throw new IdentifierError(`${shown(name)} is not a valid name: ${fault}`);
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * Returns a name, optionally with its schema, quoted part by part: `audit.jobs` becomes `"audit"."jobs"`. A dot always
 * separates parts; to quote a name that contains a dot, use `identifier`.
 * @throws IdentifierError as `identifier`, and for more than two parts
 */
export function qualified(name: string): string {
  if (typeof name !== "string") throw new IdentifierError(`a name must be a string; it is ${typeof name}`);
  const parts = name.split(".");
  if (parts.length > 2) {
    throw new IdentifierError(`${shown(name)} is not a valid name: it must be name or schema.name`);
  }
  return parts.map(identifier).join(".");
}

/**
 * Returns the name of a table's migration: `0001_svc_jobs`. Migration tools accept letters, digits and `_`; other characters
 * become `_`, and eight digits of a hash then distinguish `a.b` from `a_b`.
 *
 * @param step start of the name, for example `0001`
 */
export function migrationName(step: string, table: string): string {
  const words = table.replaceAll(/\W/g, "_");
  if (words === table) return `${step}_${words}`;
  return `${step}_${words}_${createHash("sha256").update(table).digest("hex").slice(0, 8)}`;
}

function faultOf(name: string): string | undefined {
  if (name === "") return "it is empty";
  if (name.includes("\0")) return "it contains NUL";
  if (/\p{Surrogate}/u.test(name)) return "it contains an unpaired surrogate";
  const bytes = Buffer.byteLength(name);
  return bytes > MAX_BYTES ? `it has ${bytes} bytes; at most ${MAX_BYTES} are allowed` : undefined;
}

function shown(name: string): string {
  return JSON.stringify(name.length > 80 ? `${name.slice(0, 77)}...` : name);
}

import { isTenantId, TENANT_ID_EXPECTED } from "@svc/context";
import { refused, SearchError } from "./errors.ts";

const MAX_DOCUMENT_BYTES = 1024;
/** Maximum size of a chunk's text in bytes: a text search vector cannot hold more words. */
export const MAX_CONTENT_BYTES = 262_144;
/** Maximum size of a chunk's metadata in bytes, as JSON. */
export const MAX_META_BYTES = 65_536;

/** @throws SearchError `ERR_SVC_SEARCH_TENANT` for a value that is not a tenant id (SEARCH-6) */
export function checkTenant(tenant: unknown): asserts tenant is string {
  if (typeof tenant !== "string" || tenant.trim() === "") {
    throw new SearchError("ERR_SVC_SEARCH_TENANT", "a tenant is required: a non-empty string");
  }
  if (!isTenantId(tenant)) {
    throw new SearchError("ERR_SVC_SEARCH_TENANT", `the tenant must have ${TENANT_ID_EXPECTED}`);
  }
}

/** @throws SearchError `ERR_SVC_SEARCH_ARGUMENT` */
export function checkDocumentId(documentId: unknown): asserts documentId is string {
  if (typeof documentId !== "string" || documentId === "") {
    throw refused("the document's id must be a non-empty string");
  }
  const fault = faultOf(documentId, MAX_DOCUMENT_BYTES);
  if (fault !== undefined) throw refused(`the document's id ${fault}`);
}

/** @throws SearchError `ERR_SVC_SEARCH_ARGUMENT`; the message names `what` but does not contain the text */
export function checkContent(content: unknown, what: string): asserts content is string {
  if (typeof content !== "string" || content.trim() === "") {
    throw refused(`the content of ${what} must be a non-empty string`);
  }
  const fault = faultOf(content, MAX_CONTENT_BYTES);
  if (fault !== undefined) throw refused(`the content of ${what} ${fault}`);
}

/** @throws SearchError `ERR_SVC_SEARCH_ARGUMENT` */
export function checkWhole(value: unknown, what: string, min: number, max: number): asserts value is number {
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return;
  const shown = typeof value === "number" ? String(value) : `a ${typeof value}`;
  throw refused(`${what} must be a whole number from ${min} to ${max}; it is ${shown}`);
}

/** @throws SearchError `ERR_SVC_SEARCH_ARGUMENT` for an unknown member */
export function checkMembers(given: unknown, what: string, known: readonly string[]): void {
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw refused(`${what} must be an object`);
  for (const key of Object.keys(given)) {
    if (known.includes(key)) continue;
    throw refused(
      `unknown member ${JSON.stringify(key.slice(0, 40))} in ${what}; expected one of ${known.join(", ")}`,
    );
  }
}

/** Returns why a string cannot be stored unchanged, or undefined if it can. */
export function faultOf(text: string, maxBytes: number): string | undefined {
  if (text.includes("\0")) return "must not contain NUL";
  if (!text.isWellFormed()) return "must not contain an unpaired surrogate";
  const bytes = Buffer.byteLength(text);
  return bytes > maxBytes ? `has ${bytes} bytes; at most ${maxBytes} are allowed` : undefined;
}

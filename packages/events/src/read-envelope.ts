import { isRequestId, isTenantId, TENANT_ID_EXPECTED } from "@svc/context";
import { InexactIntegerError, parseExactJson } from "@svc/sql";
import { createHash } from "node:crypto";
import { type EventEnvelope, traceOf } from "./envelope.ts";
import { EventError } from "./errors.ts";
import { isText } from "./text.ts";

const MOMENT =
  /^\d{4}-\d\d-\d\d[Tt ](?:[01]\d|2[0-4]):[0-5]\d(?::(?:[0-5]\d|60)(?:[.,]\d{1,9})?)?(?:[Zz]|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)$/;

/**
 * Reads an envelope that another implementation may have written (EVT-1), from a string or parsed JSON. Drops unknown
 * fields, accepts a missing or null `tenant_id` and `key`, and ignores an invalid `trace`. Derives a missing or invalid
 * `request_id` from the event's id, so that every reader gets the same one.
 *
 * @param maxBytes maximum length of a string in UTF-8 bytes; a longer one is rejected before parsing
 * @throws EventError `ERR_SVC_EVENT_ENVELOPE`, naming the field; even for a string with an integer that JavaScript
 *   would round (EVT-11)
 */
export function readEnvelope(given: unknown, maxBytes: number = Infinity): EventEnvelope {
  const found = typeof given === "string" ? parsed(given, maxBytes) : given;
  if (typeof found !== "object" || found === null || Array.isArray(found)) throw fault("it is not an object");
  const fields = found as Readonly<Record<string, unknown>>;
  const id = textOf(fields, "id");
  const { occurred_at, request_id, data } = fields;
  if (typeof occurred_at !== "string" || !isMoment(occurred_at)) {
    throw fault("occurred_at must be an ISO 8601 timestamp with an offset");
  }
  if (typeof data !== "object" || data === null || Array.isArray(data)) throw fault("data must be an object");
  return {
    id,
    type: textOf(fields, "type"),
    source: textOf(fields, "source"),
    occurred_at,
    request_id: isRequestId(request_id) ? request_id : idFor(id),
    // Reject a malformed tenant, so that the event is not treated as one without a tenant.
    tenant_id: tenantOf(fields["tenant_id"]),
    trace: traceOf(fields["trace"]),
    key: textOrNone(fields, "key") ?? null,
    data,
  };
}

function parsed(text: string, maxBytes: number): unknown {
  // Compare the length first, which is cheap: a string has at least as many UTF-8 bytes as characters.
  if (text.length > maxBytes || Buffer.byteLength(text) > maxBytes) {
    throw fault(`it has more than ${maxBytes} bytes (maxEventBytes)`);
  }
  try {
    return parseExactJson(text, "data", "data");
  } catch (error) {
    throw fault(error instanceof InexactIntegerError ? error.message : "it is not JSON");
  }
}

function textOf(fields: Readonly<Record<string, unknown>>, name: string): string {
  const value = fields[name];
  if (!isText(value)) throw fault(`${name} must be a string of 1 to 255 characters`);
  return value;
}

function textOrNone(fields: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = fields[name];
  return value === undefined || value === null || value === "" ? undefined : textOf(fields, name);
}

function tenantOf(value: unknown): string {
  if (value === undefined || value === null || value === "") return "";
  if (!isTenantId(value)) throw fault(`tenant_id must be a string of ${TENANT_ID_EXPECTED}`);
  return value;
}

function isMoment(text: string): boolean {
  // Compare the day, because `Date` reads 31 February as a day in March.
  return MOMENT.test(text) && new Date(text.slice(0, 10)).getUTCDate() === Number(text.slice(8, 10));
}

function idFor(id: string): string {
  return isRequestId(id) ? id : createHash("sha256").update(id).digest("hex").slice(0, 32);
}

function fault(message: string): EventError {
  return new EventError("ERR_SVC_EVENT_ENVELOPE", `not a valid event: ${message}`);
}

import {
  currentContext,
  currentTrace,
  isRequestId,
  isTenantId,
  mintRequestId,
  TENANT_ID_EXPECTED,
} from "@svc/context";
import { jsonBytes } from "@svc/sql";
import { refused } from "./errors.ts";
import { isStorable, isText, isType, MAX_TEXT, MAX_TYPE, shown } from "./text.ts";

/** The publisher's trace context; empty without a trace. */
export interface EventTrace {
  readonly traceparent?: string;
  readonly tracestate?: string;
}

/**
 * The envelope of an event, identical in the job queue and on a bus (EVT-1). All nine fields are always present
 * (EVT-9).
 */
export interface EventEnvelope<T extends string = string, D extends object = object> {
  readonly id: string;
  /** What happened, for example `expense.recorded`. Subscribers match on it. */
  readonly type: T;
  /** The service that published the event. */
  readonly source: string;
  /** ISO 8601 with an offset. */
  readonly occurred_at: string;
  readonly request_id: string;
  /** `""` means no tenant. */
  readonly tenant_id: string;
  readonly trace: EventTrace;
  /** The ordering key, normally the id of the changed entity; null means unordered. */
  readonly key: string | null;
  readonly data: D;
}

/** An event to publish. */
export interface NewEvent<T extends string = string, D extends object = object> {
  /** Words of letters, digits, `_` and `-`, separated by dots; at most 200 characters. Required. */
  readonly type: T;
  /** An object that JSON can represent. Required. */
  readonly data: D;
  /** Events with the same key reach a bus in publishing order; 1 to 255 characters. Default: null, unordered. */
  readonly key?: string | null | undefined;
  /**
   * 1 to 128 visible ASCII characters. Publishing the same id again adds nothing (EVT-4). Default: 32 random hex
   * characters.
   */
  readonly id?: string | undefined;
  /** When the event happened. Default: now. */
  readonly occurredAt?: Date | undefined;
  /** Default: the tenant of the current context. Null means no tenant. */
  readonly tenantId?: string | null | undefined;
  /** The request id. Default: the one in the current context, or a new id. */
  readonly requestId?: string | undefined;
  /** Default: the current trace (`currentTrace()` of `@svc/context`). Null means no trace. */
  readonly trace?:
    { readonly traceparent: string; readonly tracestate?: string | undefined } | null | undefined;
}

/** An envelope and its JSON string. */
export interface Written {
  readonly envelope: EventEnvelope;
  readonly body: string;
}

const KNOWN: ReadonlySet<string> = new Set<keyof NewEvent>([
  "type",
  "data",
  "key",
  "id",
  "occurredAt",
  "tenantId",
  "requestId",
  "trace",
]);
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const MAX_TRACESTATE = 512;
const FIRST_MOMENT = Date.UTC(1, 0, 1);
const LAST_MOMENT = Date.UTC(10_000, 0, 1);

/**
 * Builds the envelope of an event, with tenant and request id from the current context, and the current trace (EVT-9).
 *
 * @throws EventError `ERR_SVC_EVENT_ARGUMENT`
 */
export function writeEnvelope(event: NewEvent, source: string, maxBytes: number, now: () => number): Written {
  if (typeof event !== "object" || event === null)
    throw refused("an event must be an object with type and data");
  for (const key of Object.keys(event)) {
    if (!KNOWN.has(key)) {
      const shown = JSON.stringify(key.slice(0, 80));
      throw refused(`unknown member ${shown} in an event; expected one of ${[...KNOWN].join(", ")}`);
    }
  }
  const { type, data, id = mintRequestId(), key = null } = event;
  if (!isType(type)) {
    throw refused(
      `type must consist of words of letters, digits, _ and -, separated by dots, with at most ${MAX_TYPE} characters`,
    );
  }
  if (!isRequestId(id)) throw refused("id must be 1 to 128 visible ASCII characters");
  if (key !== null && !isText(key)) throw refused(textFault("key", key));
  const json = dataJson(data);
  const context = currentContext();
  const envelope: EventEnvelope = {
    id,
    type,
    source,
    occurred_at: momentOf(event.occurredAt, now),
    request_id: requestIdOf(event.requestId, context?.requestId),
    tenant_id: tenantOf(event.tenantId, context?.tenantId),
    trace: event.trace === undefined ? traceOf(currentTrace(context)) : givenTrace(event.trace),
    key,
    data,
  };
  const body = bodyOf(envelope, json);
  const bytes = jsonBytes(body);
  if (bytes > maxBytes) {
    const how = bytes === Buffer.byteLength(body) ? "" : " with its numbers written without exponents";
    throw refused(
      `the event has ${bytes} bytes as JSON${how}; at most ${maxBytes} are allowed (maxEventBytes)`,
    );
  }
  return { envelope, body };
}

/** Returns the envelope as JSON (EVT-8), with the nine fields in the contract's order. */
export function bodyOf(envelope: EventEnvelope, dataAsJson: string = JSON.stringify(envelope.data)): string {
  const { id, type, source, occurred_at, request_id, tenant_id, trace, key } = envelope;
  const head = JSON.stringify({ id, type, source, occurred_at, request_id, tenant_id, trace, key });
  return `${head.slice(0, -1)},"data":${dataAsJson}}`;
}

/** Returns a carrier's trace context if it is valid; otherwise an empty object. */
export function traceOf(carrier: unknown): EventTrace {
  if (typeof carrier !== "object" || carrier === null) return {};
  const { traceparent, tracestate } = carrier as Record<string, unknown>;
  if (typeof traceparent !== "string" || !TRACEPARENT.test(traceparent)) return {};
  return isText(tracestate, MAX_TRACESTATE) ? { traceparent, tracestate } : { traceparent };
}

function givenTrace(given: object | null): EventTrace {
  if (given === null) return {};
  const trace = traceOf(given);
  if (trace.traceparent === undefined) throw refused("trace must have a valid traceparent of version 00");
  const { tracestate } = given as { readonly tracestate?: unknown };
  if (tracestate !== undefined && trace.tracestate === undefined) {
    throw refused(
      `trace.tracestate must have at most ${MAX_TRACESTATE} characters and no control characters`,
    );
  }
  return trace;
}

/**
 * Returns an event's data as JSON.
 *
 * @throws EventError `ERR_SVC_EVENT_ARGUMENT` for data that JSON or PostgreSQL cannot represent
 */
export function dataJson(data: unknown): string {
  if (typeof data !== "object" || data === null || Array.isArray(data)) {
    throw refused(`data must be an object; it is ${shown(data)}`);
  }
  let json: string | undefined;
  try {
    json = JSON.stringify(data);
  } catch (error) {
    throw refused("data cannot be serialized as JSON", error);
  }
  if (typeof json !== "string" || !json.startsWith("{"))
    throw refused("data must serialize to a JSON object");
  if (!isStorable(json))
    throw refused("data contains NUL or an unpaired surrogate, which PostgreSQL cannot store");
  return json;
}

function requestIdOf(given: string | undefined, current: string | undefined): string {
  if (given === undefined) return isRequestId(current) ? current : mintRequestId();
  if (!isRequestId(given)) throw refused("requestId must be 1 to 128 visible ASCII characters");
  return given;
}

function tenantOf(given: string | null | undefined, current: string | undefined): string {
  if (given === null) return "";
  const tenant = given ?? current ?? "";
  if (typeof tenant !== "string") throw refused(textFault("tenantId", tenant));
  if (tenant !== "" && !isTenantId(tenant)) throw refused(`tenantId must have ${TENANT_ID_EXPECTED}`);
  return tenant;
}

function textFault(name: string, value: unknown): string {
  if (typeof value !== "string") return `${name} must be a string; it is ${shown(value)}`;
  return `${name} must have 1 to ${MAX_TEXT} characters and no control characters`;
}

function momentOf(value: Date | undefined, now: () => number): string {
  if (value === undefined) return new Date(now()).toISOString();
  const ms = value instanceof Date ? value.getTime() : Number.NaN;
  if (!(ms >= FIRST_MOMENT && ms < LAST_MOMENT))
    throw refused("occurredAt must be a valid Date in the years 1 to 9999");
  return value.toISOString();
}

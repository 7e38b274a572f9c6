import type { JsonObject } from "../answer.ts";
import {
  isSet,
  readBase64,
  readBoolean,
  readDouble,
  readInteger,
  readList,
  readObject,
  readText,
} from "./json-members.ts";

/** Attributes by key. Integers are numbers, bytes are a Buffer, and an empty value is null. */
export type ReceivedAttributes = Readonly<Record<string, unknown>>;

export interface ReceivedEvent {
  readonly name: string;
  readonly timeMs: number;
  readonly attributes: ReceivedAttributes;
}

/** A received span. An optional field that is absent, empty or zero, which proto3 does not distinguish, is undefined. */
export interface ReceivedSpan {
  /** 32 hexadecimal digits in lower case. */
  readonly traceId: string;
  /** 16 hexadecimal digits in lower case. */
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly traceState: string | undefined;
  /** The W3C trace flags in the low 8 bits; 0x100 and 0x200 state whether the parent is remote. */
  readonly flags: number | undefined;
  readonly name: string;
  readonly kind: (typeof KINDS)[number];
  /** Milliseconds since the epoch, with fractions. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: ReceivedAttributes;
  readonly events: readonly ReceivedEvent[];
  readonly status: { readonly code: (typeof STATUS_CODES)[number]; readonly message: string | undefined };
  /** The attributes of the resource. */
  readonly resource: ReceivedAttributes;
  /** The name of the instrumentation scope. */
  readonly scope: string;
}

const KINDS = ["unspecified", "internal", "server", "client", "producer", "consumer"] as const;
const STATUS_CODES = ["unset", "ok", "error"] as const;

/**
 * Returns the spans of an ExportTraceServiceRequest in its JSON form, in order.
 *
 * Throws on wrong types, malformed ids, unknown enum values and repeated attribute keys. A collector may ignore some of
 * these, but each of them is a fault of the exporter under test.
 */
export function receivedSpans(request: JsonObject): ReceivedSpan[] {
  return readList(request, "resourceSpans").flatMap((resourceSpans) => {
    const resource = readAttributes(readObject(resourceSpans, "resource"));
    return readList(resourceSpans, "scopeSpans").flatMap((scopeSpans) => {
      const scope = readText(readObject(scopeSpans, "scope"), "name");
      return readList(scopeSpans, "spans").map((span) => ({ ...readSpan(span), resource, scope }));
    });
  });
}

function readSpan(span: JsonObject): Omit<ReceivedSpan, "resource" | "scope"> {
  const status = readObject(span, "status");
  return {
    traceId: readId(span, "traceId", 32),
    spanId: readId(span, "spanId", 16),
    parentSpanId: readText(span, "parentSpanId") === "" ? undefined : readId(span, "parentSpanId", 16),
    traceState: readText(span, "traceState") || undefined,
    flags: Number(readInteger(span, "flags")) || undefined,
    name: readText(span, "name"),
    kind: readEnum(span, "kind", KINDS),
    startMs: readTime(span, "startTimeUnixNano"),
    endMs: readTime(span, "endTimeUnixNano"),
    attributes: readAttributes(span),
    events: readList(span, "events").map((event) => ({
      name: readText(event, "name"),
      timeMs: readTime(event, "timeUnixNano"),
      attributes: readAttributes(event),
    })),
    status: {
      code: readEnum(status, "code", STATUS_CODES),
      message: readText(status, "message") || undefined,
    },
  };
}

function readId(from: JsonObject, name: string, digits: number): string {
  const id = readText(from, name).toLowerCase();
  if (id.length === digits && /^[0-9a-f]+$/.test(id) && /[^0]/.test(id)) return id;
  throw new Error(`${name} must be ${digits} hexadecimal digits that are not all zero; got "${id}"`);
}

function readTime(from: JsonObject, name: string): number {
  return Number(readInteger(from, name)) / 1e6;
}

function readEnum<T extends string>(from: JsonObject, name: string, names: readonly T[]): T {
  const number = readInteger(from, name);
  const found = names[Number(number)];
  if (found === undefined) throw new Error(`${name} must be from 0 to ${names.length - 1}; got ${number}`);
  return found;
}

function readAttributes(from: JsonObject, member = "attributes"): ReceivedAttributes {
  const entries = readList(from, member).map(
    (each) => [readText(each, "key"), readAnyValue(readObject(each, "value"))] as const,
  );
  const keys = new Set<string>();
  for (const [key] of entries) {
    if (keys.has(key)) throw new Error(`the attribute "${key}" occurs twice`);
    keys.add(key);
  }
  return Object.fromEntries(entries);
}

const VALUE_READERS: Readonly<Record<string, (from: JsonObject, name: string) => unknown>> = {
  stringValue: readText,
  boolValue: readBoolean,
  intValue: (from, name) => Number(readInteger(from, name)),
  doubleValue: readDouble,
  arrayValue: (from, name) => readList(readObject(from, name), "values").map(readAnyValue),
  kvlistValue: (from, name) => readAttributes(readObject(from, name), "values"),
  bytesValue: readBase64,
};

function readAnyValue(value: JsonObject): unknown {
  const set = Object.entries(VALUE_READERS).filter(([name]) => isSet(value, name));
  if (set.length > 1) throw new Error(`an attribute has both ${set.map(([name]) => name).join(" and ")}`);
  for (const [name, read] of set) return read(value, name);
  return null;
}

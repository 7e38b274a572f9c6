import type { JsonObject } from "../answer.ts";
import { readFields, type WireType } from "./wire-format.ts";

interface FieldType {
  readonly wire: WireType;
  readonly read: (value: Buffer) => unknown;
}

/** The fields of a message by number. */
type Fields = Readonly<Record<number, readonly [name: string, type: FieldType, repeated?: "repeated"]>>;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

// Each reader returns the JSON form of its type, where 64-bit integers are decimal strings and ids are hexadecimal.
const string: FieldType = { wire: "bytes", read: (value) => utf8.decode(value) };
const hex: FieldType = { wire: "bytes", read: (value) => value.toString("hex") };
const base64: FieldType = { wire: "bytes", read: (value) => value.toString("base64") };
const bool: FieldType = { wire: "varint", read: (value) => value.readBigUInt64LE() !== 0n };
const int32: FieldType = { wire: "varint", read: (value) => value.readInt32LE() };
const int64: FieldType = { wire: "varint", read: (value) => String(value.readBigInt64LE()) };
const fixed32: FieldType = { wire: "fixed32", read: (value) => value.readUInt32LE() };
const fixed64: FieldType = { wire: "fixed64", read: (value) => String(value.readBigUInt64LE()) };
const double: FieldType = { wire: "fixed64", read: (value) => value.readDoubleLE() };

/** Returns the type of an embedded message; a function, because AnyValue contains itself. */
function message(fields: () => Fields): FieldType {
  return { wire: "bytes", read: (value) => decode(value, fields()) };
}

const anyValue: Fields = {
  1: ["stringValue", string],
  2: ["boolValue", bool],
  3: ["intValue", int64],
  4: ["doubleValue", double],
  5: ["arrayValue", message(() => ({ 1: ["values", message(() => anyValue), "repeated"] }))],
  6: ["kvlistValue", message(() => ({ 1: ["values", message(() => keyValue), "repeated"] }))],
  7: ["bytesValue", base64],
};
const keyValue: Fields = {
  1: ["key", string],
  2: ["value", message(() => anyValue)],
};
const resource: Fields = {
  1: ["attributes", message(() => keyValue), "repeated"],
};
const scope: Fields = {
  1: ["name", string],
};
const event: Fields = {
  1: ["timeUnixNano", fixed64],
  2: ["name", string],
  3: ["attributes", message(() => keyValue), "repeated"],
};
const status: Fields = {
  2: ["message", string],
  3: ["code", int32],
};
const span: Fields = {
  1: ["traceId", hex],
  2: ["spanId", hex],
  3: ["traceState", string],
  4: ["parentSpanId", hex],
  5: ["name", string],
  6: ["kind", int32],
  7: ["startTimeUnixNano", fixed64],
  8: ["endTimeUnixNano", fixed64],
  9: ["attributes", message(() => keyValue), "repeated"],
  11: ["events", message(() => event), "repeated"],
  15: ["status", message(() => status)],
  16: ["flags", fixed32],
};
const scopeSpans: Fields = {
  1: ["scope", message(() => scope)],
  2: ["spans", message(() => span), "repeated"],
};
const resourceSpans: Fields = {
  1: ["resource", message(() => resource)],
  2: ["scopeSpans", message(() => scopeSpans), "repeated"],
};
const request: Fields = {
  1: ["resourceSpans", message(() => resourceSpans), "repeated"],
};

/** Decodes an ExportTraceServiceRequest from protobuf into its JSON form. Throws for invalid bytes. */
export function decodeProtobuf(bytes: Buffer): JsonObject {
  return decode(bytes, request);
}

function decode(bytes: Buffer, fields: Fields): JsonObject {
  const decoded: Record<string, unknown> = {};
  for (const { number, type, value } of readFields(bytes)) {
    const field = fields[number];
    // A newer version of the protocol may add fields.
    if (field === undefined) continue;
    const [name, { wire, read }, repeated] = field;
    if (type !== wire)
      throw new Error(`field ${number} (${name}) must have the wire type ${wire}; got ${type}`);
    if (repeated === undefined) decoded[name] = read(value);
    else ((decoded[name] ??= []) as unknown[]).push(read(value));
  }
  return decoded;
}

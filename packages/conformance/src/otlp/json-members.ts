import { isObject, type JsonObject } from "../answer.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Decodes an ExportTraceServiceRequest from JSON. Throws if the bytes are not a JSON object in UTF-8. */
export function decodeJson(bytes: Buffer): JsonObject {
  return toObject(JSON.parse(utf8.decode(bytes)), "the request");
}

/** Returns a value that must be a JSON object. */
function toObject(value: unknown, name: string): JsonObject {
  if (isObject(value)) return value;
  throw mismatch(name, "an object", value);
}

/** Returns whether a member has a value; protobuf's JSON mapping treats null as absent. */
export function isSet(from: JsonObject, name: string): boolean {
  return from[name] !== undefined && from[name] !== null;
}

// The readers below return the default value of proto3 for an absent member, and throw on a wrong type.

export function readObject(from: JsonObject, name: string): JsonObject {
  return isSet(from, name) ? toObject(from[name], name) : {};
}

export function readList(from: JsonObject, name: string): readonly JsonObject[] {
  if (!isSet(from, name)) return [];
  const value = from[name];
  if (!Array.isArray(value)) throw mismatch(name, "a list", value);
  return value.map((item) => toObject(item, `an item of ${name}`));
}

export function readText(from: JsonObject, name: string): string {
  const value = isSet(from, name) ? from[name] : "";
  if (typeof value !== "string") throw mismatch(name, "a string", value);
  return value;
}

export function readBoolean(from: JsonObject, name: string): boolean {
  const value = isSet(from, name) ? from[name] : false;
  if (typeof value !== "boolean") throw mismatch(name, "a boolean", value);
  return value;
}

/** Reads an integer of up to 64 bits, which JSON may contain as a number or as a decimal string. */
export function readInteger(from: JsonObject, name: string): bigint {
  const value = isSet(from, name) ? from[name] : 0;
  if (Number.isInteger(value) || (typeof value === "string" && /^-?\d+$/.test(value))) {
    return BigInt(value as number | string);
  }
  throw mismatch(name, "an integer", value);
}

export function readDouble(from: JsonObject, name: string): number {
  const value = isSet(from, name) ? from[name] : 0;
  if (typeof value === "number") return value;
  // JSON has no literals for these numbers.
  if (value === "NaN" || value === "Infinity" || value === "-Infinity") return Number(value);
  throw mismatch(name, "a number", value);
}

export function readBase64(from: JsonObject, name: string): Buffer {
  return Buffer.from(readText(from, name), "base64");
}

function mismatch(name: string, expected: string, value: unknown): Error {
  return new Error(`${name} must be ${expected}; got ${JSON.stringify(value)}`);
}

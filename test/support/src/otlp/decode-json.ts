import { type JsonObject, toObject } from "./json-members.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Decodes an ExportTraceServiceRequest from JSON. Throws if the bytes are not a JSON object in UTF-8. */
export function decodeJson(bytes: Buffer): JsonObject {
  return toObject(JSON.parse(utf8.decode(bytes)), "the request");
}

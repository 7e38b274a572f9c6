import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { gunzipSync } from "node:zlib";
import type { JsonObject } from "../answer.ts";
import { decodeProtobuf } from "./decode-protobuf.ts";
import { decodeJson } from "./json-members.ts";
import { type ReceivedSpan, receivedSpans } from "./received-span.ts";

export type Encoding = "json" | "protobuf";

/** The content of one request to the receiver. */
export interface RequestContent {
  /** The status that OTLP/HTTP assigns: 200, or 400, 404, 405 or 415 for a faulty request. */
  readonly status: number;
  readonly encoding: Encoding | undefined;
  /** The decompressed body; undefined if it cannot be decompressed. */
  readonly body: Buffer | undefined;
  readonly spans: readonly ReceivedSpan[];
  /** The reason for a status other than 200. */
  readonly fault: string | undefined;
}

export const TRACES_PATH = "/v1/traces";

const DECODERS: Readonly<Record<Encoding, (bytes: Buffer) => JsonObject>> = {
  json: decodeJson,
  protobuf: decodeProtobuf,
};

/** Returns the encoding that the content type names; undefined for others. */
export function encodingOf(headers: IncomingHttpHeaders): Encoding | undefined {
  const type = headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
  if (type === "application/json") return "json";
  return type === "application/x-protobuf" ? "protobuf" : undefined;
}

/** Decodes an OTLP/HTTP trace request. Never throws. */
export function readRequest({ method, url, headers }: IncomingMessage, sent: Buffer): RequestContent {
  const encoding = encodingOf(headers);
  const compression = headers["content-encoding"] ?? "identity";
  let body = compression === "identity" ? sent : undefined;
  const faulty = (status: number, fault: string): RequestContent => {
    return { status, encoding, body, spans: [], fault };
  };
  try {
    if (compression === "gzip") body = gunzipSync(sent);
    if (url?.split("?", 1)[0] !== TRACES_PATH)
      return faulty(404, `the path must be ${TRACES_PATH}; got ${url}`);
    if (method !== "POST") return faulty(405, `the method must be POST; got ${method}`);
    if (body === undefined) return faulty(415, `content-encoding must be gzip or absent; got ${compression}`);
    if (encoding === undefined) return faulty(415, `unknown content-type ${headers["content-type"]}`);
    const spans = receivedSpans(DECODERS[encoding](body));
    return { status: 200, encoding, body, spans, fault: undefined };
  } catch (error) {
    return faulty(400, error instanceof Error ? error.message : String(error));
  }
}

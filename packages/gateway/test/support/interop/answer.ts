import { once } from "node:events";
import { type IncomingMessage, type OutgoingHttpHeaders, request, type RequestOptions } from "node:http";
import { buffer } from "node:stream/consumers";

/** A complete response. */
export interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingMessage["headers"];
  /** Names and values, alternating, as they arrived. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

/** A request with a body: a single piece is sent with its length, several pieces are sent in chunks. */
export interface Sending extends RequestOptions {
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | readonly string[];
}

/** Sends a request, decodes only the chunks of the response, and resolves with the response. */
export async function send(url: string, { body, ...options }: Sending = {}): Promise<Answer> {
  const asked = request(url, options);
  if (typeof body === "string") {
    asked.setHeader("Content-Length", body.length);
    asked.end(body);
  } else {
    for (const piece of body ?? []) asked.write(piece);
    asked.end();
  }
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  const { statusCode: status, headers, rawHeaders } = response;
  return { status, headers, rawHeaders, body: await buffer(response) };
}

/** Headers of one connection, and the date, which may differ between two requests. */
const IGNORED: ReadonlySet<string> = new Set(["connection", "keep-alive", "transfer-encoding", "date"]);

/** The part of a response that must be the same with and without a gateway. */
export interface Comparable {
  readonly status: number | undefined;
  /** Headers in the order of the response, with names in lower case. */
  readonly headers: readonly string[];
  readonly body: string;
}

export function comparable({ status, rawHeaders, body }: Answer): Comparable {
  const headers: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toLowerCase() ?? "";
    if (!IGNORED.has(name)) headers.push(`${name}: ${rawHeaders[at + 1]}`);
  }
  return { status, headers, body: body.toString("latin1") };
}

// Preloaded (`node --import`) into the processes of the test suite. Writes every request to an HTTP server of the process,
// and its response, to a file of the folder RECORD_EXCHANGES, and changes neither.
import { subscribe } from "node:diagnostics_channel";
import { appendFileSync } from "node:fs";
import { get, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

/** A line of a file: a request with its response, or the document of the server that responds. */
export type Recorded =
  | { readonly server: string; readonly document: string }
  | {
      readonly server: string;
      readonly method: string;
      readonly target: string;
      /** Names and values alternately, as they were sent. */
      readonly requestHeaders: readonly string[];
      /** The body in base64, like all bodies. */
      readonly requestBody: string;
      /** The status line and the headers, as they were sent. */
      readonly head: string;
      readonly body: string;
    };

interface Started {
  readonly request: IncomingMessage;
  readonly response: ServerResponse & { readonly _header?: string };
  readonly server: Server;
}

/** Marks the request with which the recorder itself reads a document. */
const OWN = "x-recorder";
const folder = process.env["RECORD_EXCHANGES"];
const ids = new WeakMap<Server, string>();
let count = 0;

if (folder !== undefined) {
  const file = join(folder, `${process.pid}.jsonl`);
  const write = (line: Recorded): void => appendFileSync(file, `${JSON.stringify(line)}\n`);
  subscribe("http.server.request.start", (message) => {
    const { request, response, server } = message as Started;
    if (request.headers[OWN] !== undefined) return;
    const sent = collected(request, response);
    response.once("finish", () => {
      const { method = "", url = "", rawHeaders } = request;
      write({
        server: idOf(server, write),
        method,
        target: url,
        requestHeaders: rawHeaders,
        requestBody: base64(sent.request),
        head: response._header ?? "",
        body: base64(sent.response),
      });
    });
  });
}

/** Returns the id of a server. At the first call, requests the document from the running server. */
function idOf(server: Server, write: (line: Recorded) => void): string {
  const known = ids.get(server);
  if (known !== undefined) return known;
  const id = `${process.pid}-${++count}`;
  ids.set(server, id);
  const address = server.address() as AddressInfo | string | null;
  if (address === null || typeof address === "string") return id;
  const options = { host: "127.0.0.1", port: address.port, path: "/openapi.json", agent: false };
  get({ ...options, headers: { [OWN]: "document" } }, (res) => {
    const chunks: Buffer[] = [];
    res.on("data", (chunk: Buffer) => chunks.push(chunk));
    res.on("end", () => {
      if (res.statusCode === 200) write({ server: id, document: base64(chunks) });
    });
  }).on("error", () => undefined);
  return id;
}

/** Returns two lists, which receive the chunks of the request body and of the response body. */
function collected(
  request: IncomingMessage,
  response: ServerResponse,
): Record<"request" | "response", Buffer[]> {
  const sent = { request: [] as Buffer[], response: [] as Buffer[] };
  const push = request.push.bind(request);
  request.push = (chunk: unknown, encoding?: BufferEncoding) => {
    if (chunk instanceof Buffer) sent.request.push(Buffer.from(chunk));
    return push(chunk, encoding);
  };
  for (const name of ["write", "end"] as const) {
    const own = response[name].bind(response) as (...args: unknown[]) => never;
    response[name] = (...args: unknown[]) => {
      const [chunk, encoding] = args;
      if (typeof chunk === "string")
        sent.response.push(
          Buffer.from(chunk, typeof encoding === "string" ? (encoding as BufferEncoding) : "utf8"),
        );
      else if (chunk instanceof Uint8Array) sent.response.push(Buffer.from(chunk));
      return own(...args);
    };
  }
  return sent;
}

function base64(chunks: readonly Buffer[]): string {
  return Buffer.concat(chunks).toString("base64");
}

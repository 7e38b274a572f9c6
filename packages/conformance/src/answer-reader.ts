import { type IncomingMessage, request } from "node:http";
import { Duplex } from "node:stream";
import { Answer, NoAnswer } from "./answer.ts";

/** Maximum size of a status line with its headers, in bytes. */
const largestHead = 256 * 1024;
const largestAnswer = 8 * 1024 * 1024;

/** Descriptions of faults in a response, keyed by the error code of Node's HTTP parser. */
const faults: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "headers of more than 256 KiB",
  HPE_INVALID_CONTENT_LENGTH: "a Content-Length that is not a number",
  HPE_INVALID_CHUNK_SIZE: "a chunk without a size",
  ECONNRESET: "a connection that ended within the headers",
};

/**
 * Parses the bytes of one HTTP/1.1 response with Node's own parser, and keeps what Node's client hides: repeated
 * headers and the exact bytes of header values. The request that the parser's client writes is discarded.
 */
export class AnswerReader {
  /** The parsed response; rejects with `NoAnswer` unless the bytes contain one complete response. */
  readonly answer: Promise<Answer>;
  readonly #wire = new Duplex({ read() {}, write: (_chunk, _encoding, written) => written() });
  #size = 0;

  /**
   * @param isHead whether the request was HEAD, so that the response has no body
   * @param elapsedMs returns how long the response took; called when it is complete
   */
  constructor(isHead: boolean, elapsedMs: () => number) {
    this.answer = new Promise((resolve, reject) => {
      let response: IncomingMessage | undefined;
      const discarded = request({
        method: isHead ? "HEAD" : "GET",
        createConnection: () => this.#wire,
        maxHeaderSize: largestHead,
        insecureHTTPParser: true,
      });
      discarded.on("response", (given) => {
        response = given;
        const parts: Buffer[] = [];
        given.on("data", (part: Buffer) => parts.push(part));
        given.on("error", () => undefined);
        given.on("close", () => {
          const body = Buffer.concat(parts);
          if (!given.complete) return reject(new NoAnswer(cutShort(given, body)));
          resolve(new Answer(given.statusCode ?? 0, pairs(given.rawHeaders), body, elapsedMs()));
        });
      });
      discarded.on("error", (error: NodeJS.ErrnoException) => {
        // Ignore parser errors in bytes that follow a complete response.
        if (response?.complete === true) return;
        const reason = faults[error.code ?? ""] ?? "bytes that are not HTTP/1.1";
        reject(error instanceof NoAnswer ? error : new NoAnswer(reason));
      });
      discarded.end();
    });
  }

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  add(chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size > largestAnswer) this.fail("a response of more than 8 MiB");
    else this.#wire.push(chunk);
  }

  /** Ends the byte stream, which completes a body without a Content-Length. */
  end(): void {
    this.#wire.push(null);
  }

  /** Rejects `answer` with this reason, unless the response is already complete. */
  fail(reason: string): void {
    this.#wire.destroy(new NoAnswer(reason));
  }
}

function cutShort({ headers }: IncomingMessage, { length }: Buffer): string {
  const announced = headers["content-length"];
  return announced === undefined
    ? "a connection that ended within a chunked body"
    : `a body of ${length} bytes, announced as ${announced}`;
}

function pairs(raw: readonly string[]): Answer["headers"] {
  return raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? ""] as const] : []));
}

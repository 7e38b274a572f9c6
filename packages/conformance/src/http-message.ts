import { Answer } from "./answer.ts";
import { type BodyReader, createBodyReader, MalformedAnswer } from "./http-body.ts";

/** The largest head of an answer. */
const largestHead = 256 * 1024;
const largestAnswer = 8 * 1024 * 1024;

/**
 * Parses one HTTP/1.1 answer incrementally. It keeps what an HTTP client hides: repeated headers and the exact bytes of
 * a value.
 */
export class AnswerReader {
  readonly #isHead: boolean;
  /** Bytes of an incomplete head. */
  #pending: Buffer = Buffer.alloc(0);
  #head: Head | undefined;
  #body: BodyReader | undefined;
  #size = 0;

  /** @param isHead whether the request was HEAD, so that the answer has no body */
  constructor(isHead: boolean) {
    this.#isHead = isHead;
  }

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  /** @throws MalformedAnswer */
  add(chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size > largestAnswer) throw new MalformedAnswer("an answer of more than 8 MiB");
    if (this.#body === undefined) this.#addToHead(chunk);
    else this.#body.add(chunk);
  }

  /**
   * Returns the answer once it is complete; undefined before.
   *
   * @throws MalformedAnswer when the connection ended before it was complete
   */
  read(ended: boolean, durationMs: number): Answer | undefined {
    if (this.#head === undefined || this.#body === undefined) {
      if (ended && !this.isEmpty) throw new MalformedAnswer("a connection that ended within the headers");
      return undefined;
    }
    const body = this.#body.read(ended);
    return body && new Answer(this.#head.status, this.#head.headers, body, durationMs);
  }

  #addToHead(chunk: Buffer): void {
    let bytes = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    let from = Math.max(0, this.#pending.length - 3);
    for (;;) {
      const split = bytes.indexOf("\r\n\r\n", from);
      if ((split === -1 ? bytes.length : split) > largestHead) {
        throw new MalformedAnswer("headers of more than 256 KiB");
      }
      if (split === -1) break;
      const head = parseHead(bytes.subarray(0, split).toString("latin1"));
      bytes = bytes.subarray(split + 4);
      from = 0;
      // 1xx answers such as 100 and 103 precede the final answer.
      if (head.status >= 100 && head.status < 200) continue;
      this.#head = head;
      this.#body = this.#bodyOf(head);
      this.#body.add(bytes);
      return;
    }
    this.#pending = bytes;
  }

  #bodyOf(head: Head): BodyReader {
    if (this.#isHead || head.status === 204 || head.status === 304) return createBodyReader({ length: 0 });
    if (/\bchunked\b/i.test(valueOf(head, "transfer-encoding") ?? "")) return createBodyReader("chunked");
    const length = valueOf(head, "content-length");
    if (length === undefined) return createBodyReader("until the end");
    if (!/^\d{1,15}$/.test(length)) throw new MalformedAnswer("a Content-Length that is not a number");
    return createBodyReader({ length: Number(length) });
  }
}

interface Head {
  readonly status: number;
  readonly headers: Answer["headers"];
}

function parseHead(text: string): Head {
  const [statusLine = "", ...lines] = text.split("\r\n");
  const status = /^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(statusLine)?.[1];
  if (status === undefined) throw new MalformedAnswer("bytes that are not HTTP/1.1");
  const headers = lines.map((line): readonly [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
  return { status: Number(status), headers };
}

function valueOf({ headers }: Head, name: string): string | undefined {
  return headers.find(([each]) => each.toLowerCase() === name)?.[1];
}

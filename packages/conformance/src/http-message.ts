import { Answer } from "./answer.ts";

/** A message that no HTTP client could read. */
export class MalformedAnswer extends Error {
  override readonly name = "MalformedAnswer";
}

/** Nothing that a service says to the checks is longer. */
const largestAnswer = 32 * 1024 * 1024;

/**
 * Reads one HTTP/1.1 answer. It takes bytes as they come; what an HTTP client would hide (repeated headers, the
 * exact bytes of a value) stays visible.
 */
export class AnswerReader {
  readonly #isHead: boolean;
  readonly #chunks: Buffer[] = [];
  #size = 0;

  constructor(isHead: boolean) {
    this.#isHead = isHead;
  }

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  add(chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size > largestAnswer) throw new MalformedAnswer("an answer of more than 32 MiB");
    this.#chunks.push(chunk);
  }

  /** The answer, once it is complete; undefined when more has to come. */
  read(ended: boolean, durationMs: number): Answer | undefined {
    let bytes = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
    for (;;) {
      const split = bytes.indexOf("\r\n\r\n");
      if (split === -1) {
        if (ended && this.#size > 0) throw new MalformedAnswer("a connection that ended within the headers");
        return undefined;
      }
      const head = parseHead(bytes.subarray(0, split).toString("latin1"));
      bytes = bytes.subarray(split + 4);
      // 100 and 103 come before the answer.
      if (head.status >= 100 && head.status < 200) continue;
      const body = this.#body(head, bytes, ended);
      return body && new Answer(head.status, head.headers, body, durationMs);
    }
  }

  #body(head: Head, bytes: Buffer, ended: boolean): Buffer | undefined {
    if (this.#isHead || head.status === 204 || head.status === 304) return Buffer.alloc(0);
    if (/\bchunked\b/i.test(valueOf(head, "transfer-encoding") ?? "")) return unchunk(bytes);
    const length = valueOf(head, "content-length");
    if (length === undefined) return ended ? bytes : undefined;
    if (bytes.length >= Number(length)) return bytes.subarray(0, Number(length));
    if (ended) throw new MalformedAnswer(`a body of ${bytes.length} bytes, announced as ${length}`);
    return undefined;
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

/** The content of a chunked body, or undefined while its end is missing. */
function unchunk(bytes: Buffer): Buffer | undefined {
  const parts: Buffer[] = [];
  let at = 0;
  for (;;) {
    const end = bytes.indexOf("\r\n", at);
    if (end === -1) return undefined;
    const size = Number.parseInt(bytes.subarray(at, end).toString("latin1"), 16);
    if (Number.isNaN(size)) throw new MalformedAnswer("a chunk without a size");
    if (size === 0) return Buffer.concat(parts);
    if (bytes.length < end + 2 + size + 2) return undefined;
    parts.push(bytes.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}

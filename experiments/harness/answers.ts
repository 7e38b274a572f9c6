/** One response received on a connection. */
export interface Answer {
  readonly status: number;
  /** Header values by lower-case name, in order of arrival. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
  readonly body: Buffer;
}

/** The parsed data of a connection. */
export interface Received {
  /** Complete final responses, without 1xx responses. */
  readonly answers: readonly Answer[];
  /** The number of bytes after the last complete response. */
  readonly rest: number;
  /** How the data violates HTTP; undefined if it does not. */
  readonly fault: string | undefined;
}

const statusLine = /^HTTP\/1\.[01] (\d{3}) [\t -~]*$/;
const headerLine = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*([\t -~\x80-\xff]*?)[ \t]*$/;

/**
 * Parses responses strictly: anything that a cautious client would reject is a fault.
 *
 * @param toHead whether the first response is to a HEAD request. @param closed whether the connection has ended
 */
export function readAnswers(bytes: Buffer, toHead: boolean, closed: boolean): Received {
  const answers: Answer[] = [];
  let at = 0;
  while (at < bytes.length) {
    const end = bytes.indexOf("\r\n\r\n", at);
    if (end === -1)
      return { answers, rest: bytes.length - at, fault: closed ? "a head that is cut off" : undefined };
    const head = readHead(bytes.toString("latin1", at, end));
    if (typeof head === "string") return { answers, rest: bytes.length - at, fault: head };
    const start = end + 4;
    if (head.status < 200) {
      at = start;
      continue;
    }
    const none = (toHead && answers.length === 0) || head.status === 204 || head.status === 304;
    const body = none ? { body: Buffer.alloc(0), next: start } : readBody(bytes, start, head.headers, closed);
    if (typeof body === "string") return { answers, rest: bytes.length - at, fault: body };
    if (body === undefined)
      return { answers, rest: bytes.length - at, fault: closed ? "a body that is cut off" : undefined };
    answers.push({ ...head, body: body.body });
    at = body.next;
    // Ignore the body: Node's parser sends one for a malformed HEAD request, and then closes the connection.
    if (none && closed && head.headers.get("connection")?.[0] === "close") at = bytes.length;
  }
  return { answers, rest: 0, fault: undefined };
}

function readHead(text: string): Omit<Answer, "body"> | string {
  const [first = "", ...lines] = text.split("\r\n");
  const status = statusLine.exec(first)?.[1];
  if (status === undefined) return `status line ${JSON.stringify(first.slice(0, 80))}`;
  const headers = new Map<string, string[]>();
  for (const line of lines) {
    const [, name, value] = headerLine.exec(line) ?? [];
    if (name === undefined || value === undefined) return `header line ${JSON.stringify(line.slice(0, 80))}`;
    const key = name.toLowerCase();
    headers.set(key, [...(headers.get(key) ?? []), value]);
  }
  return { status: Number(status), headers };
}

type Body = { readonly body: Buffer; readonly next: number };

function readBody(
  bytes: Buffer,
  start: number,
  headers: Answer["headers"],
  closed: boolean,
): Body | string | undefined {
  const lengths = headers.get("content-length") ?? [];
  const chunked = headers.get("transfer-encoding");
  if (chunked !== undefined) {
    if (lengths.length > 0 || chunked.join().toLowerCase() !== "chunked")
      return "Transfer-Encoding that is invalid or together with Content-Length";
    return readChunks(bytes, start);
  }
  if (lengths.length > 1 || !/^\d+$/.test(lengths[0] ?? "0")) return "content-length";
  if (lengths.length === 0) return closed ? { body: bytes.subarray(start), next: bytes.length } : undefined;
  const next = start + Number(lengths[0]);
  return next > bytes.length ? undefined : { body: bytes.subarray(start, next), next };
}

function readChunks(bytes: Buffer, start: number): Body | string | undefined {
  const parts: Buffer[] = [];
  for (let at = start; ;) {
    const end = bytes.indexOf("\r\n", at);
    if (end === -1) return undefined;
    const line = bytes.toString("latin1", at, end);
    if (!/^[\da-f]+$/i.test(line)) return `chunk size ${JSON.stringify(line.slice(0, 40))}`;
    const size = Number.parseInt(line, 16);
    const next = end + 2 + size + 2;
    if (next > bytes.length) return undefined;
    if (size === 0) return { body: Buffer.concat(parts), next };
    parts.push(bytes.subarray(end + 2, end + 2 + size));
    at = next;
  }
}

/** Returns the only value of a header; undefined when it is missing or repeated. */
export function headerOf(answer: Answer, name: string): string | undefined {
  const values = answer.headers.get(name);
  return values?.length === 1 ? values[0] : undefined;
}

/** Returns the fault of a response that should be a problem document with a request id; undefined when it is correct. */
export function problemFault(answer: Answer, toHead = false): string | undefined {
  const type = headerOf(answer, "content-type");
  if (type !== "application/problem+json") return `content-type ${type ?? "missing"}`;
  if (toHead) return undefined;
  let body: Readonly<Record<string, unknown>>;
  try {
    body = JSON.parse(answer.body.toString()) as typeof body;
  } catch {
    return "a body that is not JSON";
  }
  if (body["status"] !== answer.status) return "a different status in the body";
  if (body["request_id"] !== headerOf(answer, "x-request-id"))
    return "a request_id that differs from the header";
  const missing = ["type", "title", "detail", "instance"].find((name) => typeof body[name] !== "string");
  return missing === undefined ? undefined : `no ${missing}`;
}

/** A request under construction; each character stands for one byte (latin1). */
export interface Draft {
  method: string;
  target: string;
  version: string;
  /** Header lines without their line endings. */
  lines: string[];
  body: string;
  /** Bytes to send after the request. */
  behind: string;
  /** Bytes to send before the request. */
  before: string;
}

/** A way to corrupt or complicate a request. */
export interface Mutation {
  readonly name: string;
  /** Whether a request with this mutation must not reach a route. */
  readonly refused: boolean;
  /** Why a service may close the connection without a response; undefined when it must respond. */
  readonly unanswered?: string | undefined;
  apply(draft: Draft): void;
}

export function bytesOf(draft: Draft): Buffer {
  const { before, method, target, version, lines, body, behind } = draft;
  const head = [`${method} ${target} ${version}`, ...lines].join("\r\n");
  return Buffer.from(`${before}${head}\r\n\r\n${body}${behind}`, "latin1");
}

/** Encodes a string as UTF-8, one character for each byte. */
export function utf8(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}

export function withBody(draft: Draft, body: string, type = "application/json"): void {
  setLine(draft, "Content-Type", type);
  setLine(draft, "Content-Length", String(body.length));
  draft.body = body;
  if (draft.method === "GET") {
    draft.method = "POST";
    draft.target = "/things";
  }
}

export function withChunks(draft: Draft, chunks: string): void {
  withBody(draft, "");
  removeLine(draft, "Content-Length");
  draft.lines.push("Transfer-Encoding: chunked");
  draft.body = chunks;
}

export function setLine(draft: Draft, name: string, value: string): void {
  removeLine(draft, name);
  draft.lines.push(`${name}: ${value}`);
}

export function removeLine(draft: Draft, name: string): void {
  const start = `${name.toLowerCase()}:`;
  draft.lines = draft.lines.filter((line) => !line.toLowerCase().startsWith(start));
}

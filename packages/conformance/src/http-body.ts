/** A message that is not valid HTTP. */
export class MalformedAnswer extends Error {
  override readonly name = "MalformedAnswer";
}

/** Collects the bytes of one body. Reads each byte once, however small the chunks are. */
export interface BodyReader {
  /** @throws MalformedAnswer */
  add(bytes: Buffer): void;
  /**
   * Returns the body once it is complete; undefined before.
   *
   * @throws MalformedAnswer when the connection ended before it was complete
   */
  read(ended: boolean): Buffer | undefined;
}

/** How the end of a body is recognised. */
export type Framing = "chunked" | "until the end" | { readonly length: number };

export function createBodyReader(framing: Framing): BodyReader {
  if (framing === "chunked") return chunkedReader();
  const wanted = framing === "until the end" ? Infinity : framing.length;
  const parts: Buffer[] = [];
  let size = 0;
  return {
    add(bytes) {
      parts.push(bytes);
      size += bytes.length;
    },
    read(ended) {
      if (size >= wanted) return Buffer.concat(parts).subarray(0, wanted);
      if (!ended) return undefined;
      if (wanted === Infinity) return Buffer.concat(parts);
      throw new MalformedAnswer(`a body of ${size} bytes, announced as ${wanted}`);
    },
  };
}

/** The longest line with a chunk size, including extensions. */
const longestLine = 1024;

function chunkedReader(): BodyReader {
  const parts: Buffer[] = [];
  let line: Buffer = Buffer.alloc(0);
  /** Remaining bytes of the chunk including its line end; 0 before the next size. */
  let left = 0;
  let complete = false;

  function addToLine(bytes: Buffer): Buffer {
    const joined = line.length === 0 ? bytes : Buffer.concat([line, bytes]);
    const end = joined.indexOf("\r\n");
    if ((end === -1 ? joined.length : end) > longestLine) throw new MalformedAnswer("a chunk without a size");
    if (end === -1) {
      line = joined;
      return Buffer.alloc(0);
    }
    const size = /^([0-9a-f]{1,8})\s*(?:;|$)/i.exec(joined.subarray(0, end).toString("latin1"))?.[1];
    if (size === undefined) throw new MalformedAnswer("a chunk without a size");
    line = Buffer.alloc(0);
    left = Number.parseInt(size, 16) + 2;
    complete = left === 2;
    return joined.subarray(end + 2);
  }

  return {
    add(bytes) {
      let rest = bytes;
      while (rest.length > 0 && !complete) {
        if (left === 0) {
          rest = addToLine(rest);
          continue;
        }
        const content = Math.max(0, Math.min(left - 2, rest.length));
        if (content > 0) parts.push(rest.subarray(0, content));
        const taken = Math.min(left, rest.length);
        left -= taken;
        rest = rest.subarray(taken);
      }
    },
    read(ended) {
      if (complete) return Buffer.concat(parts);
      if (ended) throw new MalformedAnswer("a connection that ended within a chunked body");
      return undefined;
    },
  };
}

/** A request as bytes on the wire, and the positions of the strings that a parser cuts from it. */
export interface RequestBytes {
  readonly method: string;
  readonly bytes: Buffer;
  readonly url: readonly [start: number, end: number];
  /** Positions of header names and values, alternately. */
  readonly headers: readonly (readonly [start: number, end: number])[];
}

export function requestBytes(
  method: string,
  url: string,
  headers: Readonly<Record<string, string>>,
): RequestBytes {
  const line = `${method} ${url} HTTP/1.1\r\n`;
  const places: (readonly [number, number])[] = [];
  let text = line;
  for (const [name, value] of Object.entries(headers)) {
    places.push([text.length, text.length + name.length]);
    text += `${name}: `;
    places.push([text.length, text.length + value.length]);
    text += `${value}\r\n`;
  }
  const urlStart = method.length + 1;
  return {
    method,
    bytes: Buffer.from(`${text}\r\n`, "latin1"),
    url: [urlStart, urlStart + url.length],
    headers: places,
  };
}

// This undocumented method creates a latin1 string without looking up the encoding.
interface SliceableBuffer extends Buffer {
  latin1Slice(start: number, end: number): string;
}

/**
 * Returns the text at `place` as a new string each time, as Node's parser does, so that no cache can recognize it by
 * identity.
 */
export function cut(bytes: Buffer, place: readonly [start: number, end: number]): string {
  return (bytes as SliceableBuffer).latin1Slice(place[0], place[1]);
}

/** Returns all header names and values as new strings, alternately, as Node's parser passes them. */
export function cutHeaders({ bytes, headers }: RequestBytes): string[] {
  const list: string[] = [];
  for (const place of headers) list.push(cut(bytes, place));
  return list;
}

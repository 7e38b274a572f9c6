import zlib from "node:zlib";
import type { ProblemError } from "@svc/problem";
import { malformed, tooLarge } from "./faults.ts";

type Done = (fault: ProblemError | undefined, body: Buffer) => void;
type Inflate = (body: Buffer, maxBytes: number, done: Done) => void;
type Callback = (error: NodeJS.ErrnoException | null, result: Buffer) => void;
type Decode = (body: Buffer, options: zlib.ZlibOptions & zlib.ZstdOptions, callback: Callback) => void;

// A zstd body may require a window of at most 8 MiB (RFC 9659).
const ZSTD_PARAMETERS = { [zlib.constants.ZSTD_d_windowLogMax]: 23 };
const EMPTY = Buffer.alloc(0);

const inflaters: ReadonlyMap<string, Inflate> = new Map([
  ["gzip", inflateWith(zlib.gunzip)],
  ["x-gzip", inflateWith(zlib.gunzip)],
  ["deflate", inflateWith(zlib.inflate)],
  ["br", inflateWith(zlib.brotliDecompress)],
  // zstd is available since Node 22.15 and 23.8.
  ...(typeof zlib.zstdDecompress === "function"
    ? [["zstd", inflateWith(zlib.zstdDecompress, { params: ZSTD_PARAMETERS })] as const]
    : []),
]);

function inflateWith(decode: Decode, options?: zlib.ZstdOptions): Inflate {
  return (body, maxBytes, done) => {
    decode(body, { ...options, maxOutputLength: maxBytes }, (error, result) => {
      if (error === null) done(undefined, result);
      else if (error.code === "ERR_BUFFER_TOO_LARGE") done(tooLarge(maxBytes), EMPTY);
      else
        done(malformed("ERR_SVC_BODY_NOT_INFLATABLE", "the body does not match its content encoding"), EMPTY);
    });
  };
}

/** The supported content codings, for the `Accept-Encoding` header in a 415. */
export const acceptedEncodings: string = [...inflaters.keys()].filter((name) => name !== "x-gzip").join(", ");

/**
 * Returns the function that decodes a content coding: undefined for a body without a coding, "unknown" for an
 * unsupported one. Inflation stops as soon as its output exceeds the limit.
 */
export function inflaterOf(contentEncoding: string | undefined): Inflate | "unknown" | undefined {
  if (contentEncoding === undefined) return undefined;
  const name = contentEncoding.trim().toLowerCase();
  return name === "identity" || name === "" ? undefined : (inflaters.get(name) ?? "unknown");
}

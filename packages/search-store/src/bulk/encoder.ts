import type { CheckedChunk } from "../chunk.ts";
import type { Vector } from "../embedding.ts";

/** A chunk with all values of its row. */
export interface BulkRow extends CheckedChunk {
  readonly documentId: string;
  readonly ordinal: number;
  readonly embedding: Vector;
}

/** The columns of a row, in the order in which the encoder writes them. */
export const COPY_COLUMNS = "tenant_id, document_id, ordinal, content, content_sha256, meta, embedding";

/** Start of a binary COPY: signature, no flags, no header extension. */
export const COPY_HEADER: Buffer = Buffer.from("PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0", "latin1");
/** End of a binary COPY: a field count of -1. */
export const COPY_TRAILER: Buffer = Buffer.from([0xff, 0xff]);

const FIELDS = 7;
const HASH_BYTES = 32;
const JSONB_VERSION = 1;

/**
 * Returns an encoder that writes one tenant's rows for a binary COPY: each field as its length and its bytes, big-endian.
 */
export function createEncoder(
  tenant: string,
  precision: "half" | "full",
): (rows: readonly BulkRow[]) => Buffer {
  const tenantBytes = Buffer.byteLength(tenant);
  const width = precision === "half" ? 2 : 4;

  return (rows) => {
    const size = rows.reduce((sum, row) => sum + sizeOf(row, tenantBytes, width), 0);
    const buffer = Buffer.allocUnsafe(size);
    let at = 0;
    const text = (value: string): void => {
      const length = buffer.write(value, at + 4);
      buffer.writeInt32BE(length, at);
      at += 4 + length;
    };
    for (const row of rows) {
      at = buffer.writeInt16BE(FIELDS, at);
      text(tenant);
      text(row.documentId);
      at = buffer.writeInt32BE(4, at);
      at = buffer.writeInt32BE(row.ordinal, at);
      text(row.content);
      at = buffer.writeInt32BE(HASH_BYTES, at);
      at += buffer.write(row.hash, at, "hex");
      const json = buffer.write(row.meta, at + 5);
      buffer.writeInt32BE(json + 1, at);
      buffer[at + 4] = JSONB_VERSION;
      at += 5 + json;
      at = writeVector(buffer, at, row.embedding, precision);
    }
    return buffer;
  };
}

function sizeOf(row: BulkRow, tenantBytes: number, width: number): number {
  const texts = tenantBytes + Buffer.byteLength(row.documentId) + Buffer.byteLength(row.content);
  return (
    2 +
    FIELDS * 4 +
    texts +
    4 +
    HASH_BYTES +
    1 +
    Buffer.byteLength(row.meta) +
    4 +
    row.embedding.length * width
  );
}

/** Writes a vector or halfvec: the number of dimensions, two zero bytes, and the numbers. Returns the next position. */
function writeVector(buffer: Buffer, from: number, vector: Vector, precision: "half" | "full"): number {
  const { length } = vector;
  let at = buffer.writeInt32BE(4 + length * (precision === "half" ? 2 : 4), from);
  at = buffer.writeInt16BE(length, at);
  at = buffer.writeInt16BE(0, at);
  for (let index = 0; index < length; index++) {
    // Adding 0 turns -0 into 0, as the text format does.
    const value = (vector[index] ?? 0) + 0;
    if (precision === "full") {
      at = buffer.writeFloatBE(value, at);
    } else {
      const half = halfBits(value);
      buffer[at] = half >>> 8;
      buffer[at + 1] = half & 0xff;
      at += 2;
    }
  }
  return at;
}

const word = new Float32Array(1);
const bits = new Uint32Array(word.buffer);

/**
 * Returns the 16 bits of the nearest half-precision number; ties round to even. Rounds to single precision first, as the
 * server does when it parses a number. The number must be within half-precision range.
 */
export function halfBits(value: number): number {
  word[0] = value;
  const single = bits[0] ?? 0;
  const sign = (single >>> 16) & 0x8000;
  const exponent = ((single >>> 23) & 0xff) - 112;
  const mantissa = single & 0x7f_ffff;
  if (exponent > 0) return sign | rounded((exponent << 23) | mantissa, 13);
  // Below 2^-14 a half has no implicit leading 1, and below 2^-25 it is zero.
  if (exponent < -10) return sign;
  return sign | rounded(mantissa | 0x80_0000, 14 - exponent);
}

/**
 * Drops the last bits and rounds to the nearest value. A carry out of the mantissa correctly increments the exponent.
 */
function rounded(value: number, dropped: number): number {
  const kept = value >>> dropped;
  const rest = value & ((1 << dropped) - 1);
  const middle = 1 << (dropped - 1);
  return rest > middle || (rest === middle && (kept & 1) === 1) ? kept + 1 : kept;
}

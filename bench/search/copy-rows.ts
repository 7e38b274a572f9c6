import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Pool } from "pg";
import { from } from "pg-copy-streams";

/** Copies rows in PostgreSQL's binary format; each field is already encoded. */
export async function copyRows(pool: Pool, target: string, rows: Iterable<readonly Buffer[]>): Promise<void> {
  const client = await pool.connect();
  try {
    await pipeline(
      Readable.from(encoded(rows), { objectMode: false }),
      client.query(from(`copy ${target} from stdin (format binary)`)),
    );
  } finally {
    client.release();
  }
}

const BATCH = 256;

function* encoded(rows: Iterable<readonly Buffer[]>): Generator<Buffer> {
  // The file header: a signature, no flags, and no extension.
  yield Buffer.concat([Buffer.from("PGCOPY\n\xff\r\n\0", "latin1"), Buffer.alloc(8)]);
  let batch: Buffer[] = [];
  for (const fields of rows) {
    const count = Buffer.alloc(2);
    count.writeInt16BE(fields.length);
    batch.push(count, ...fields.flatMap((field) => [int4(field.length), field]));
    if (batch.length < BATCH * fields.length) continue;
    yield Buffer.concat(batch);
    batch = [];
  }
  yield Buffer.concat([...batch, Buffer.from([0xff, 0xff])]);
}

export function int4(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

/** Returns the binary form of a `jsonb`. */
export function jsonb(value: object): Buffer {
  return Buffer.concat([Buffer.from([1]), Buffer.from(JSON.stringify(value))]);
}

/** Returns the binary form of a `vector`. */
export function vector(values: Float32Array): Buffer {
  const bytes = Buffer.alloc(4 + 4 * values.length);
  bytes.writeInt16BE(values.length);
  for (const [at, value] of values.entries()) bytes.writeFloatBE(value, 4 + 4 * at);
  return bytes;
}

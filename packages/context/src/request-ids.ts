import { randomFillSync } from "node:crypto";

const BYTES_PER_ID = 16;
const BYTES_PER_BATCH = 64 * BYTES_PER_ID;
const BATCHES_PER_FILL = 8;
const ID_LENGTH = 2 * BYTES_PER_ID;
const MAX_LENGTH = 128;

// One call for the random bytes of many ids: between requests, a call costs about 8 us, whatever the number of bytes.
const bytes = Buffer.allocUnsafeSlow(BATCHES_PER_FILL * BYTES_PER_BATCH);
let used = bytes.length;
// Random bytes are converted to hex in batches: slicing an id from a long hex string takes a third of the time that
// converting 16 bytes takes. The batches are small, because an id keeps its batch in memory.
let hex = "";
let next = 0;

/** Returns a new request id: 32 lowercase hex characters, 128 random bits (COR-8). */
export function mintRequestId(): string {
  if (next === hex.length) {
    if (used === bytes.length) {
      randomFillSync(bytes);
      used = 0;
    }
    hex = bytes.toString("hex", used, (used += BYTES_PER_BATCH));
    next = 0;
  }
  const start = next;
  next += ID_LENGTH;
  return hex.slice(start, next);
}

/** Returns whether a value is a valid request id: 1 to 128 visible ASCII characters without spaces (COR-6). */
export function isRequestId(value: unknown): value is string {
  if (typeof value !== "string" || value.length === 0 || value.length > MAX_LENGTH) return false;
  for (let index = 0; index < value.length; index++) {
    const code = value.charCodeAt(index);
    if (code < 0x21 || code > 0x7e) return false;
  }
  return true;
}

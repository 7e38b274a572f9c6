import { mintRequestId } from "@svc/context";

const COUNTED = 0x1000;
let madeAt = Number.NaN;
let time = "";
let count = 0;

/**
 * A new id (JOB-3): a UUID of version 7 (RFC 9562) without its hyphens. Ids that are made one after the other stand side by side in
 * the index of the key: random ones each touch a page of their own, and cost a tenth more on the server.
 */
export function mintJobId(): string {
  const now = Date.now();
  if (now === madeAt) count = (count + 1) % COUNTED;
  else {
    [madeAt, count] = [now, 0];
    time = now.toString(16).padStart(12, "0");
  }
  return `${time}${(0x7000 + count).toString(16)}8${mintRequestId().slice(0, 15)}`;
}

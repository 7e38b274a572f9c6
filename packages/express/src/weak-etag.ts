import { hash } from "node:crypto";

/**
 * The weak ETag that Express would make, to the letter; made in one call instead of by a hash object per response,
 * which is a tenth of what a small route costs.
 */
export function weakEtag(body: string | Buffer, encoding?: BufferEncoding): string {
  const bytes = typeof body === "string" ? Buffer.from(body, encoding) : body;
  return `W/"${bytes.length.toString(16)}-${hash("sha1", bytes, "base64").slice(0, 27)}"`;
}

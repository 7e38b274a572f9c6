import type { KeyObject } from "node:crypto";
import { type Algorithm, algorithms } from "./algorithms.ts";
import type { KeySource } from "./key-source.ts";
import { MAX_KID_LENGTH, MAX_TOKEN_LENGTH } from "./token-parser.ts";

/** A decoded token as `express-jwt` (7 and 8) hands it over. */
interface DecodedToken {
  readonly header: { readonly alg: string; readonly kid?: string | undefined };
}

/**
 * The option `secret` of `express-jwt` 7 or 8, with the keys of a source. A token whose key is not known gets
 * none, and is refused there; the promise rejects when the keys could not be had. The option `algorithms` of
 * `express-jwt` should name those of the source.
 */
export function expressJwtSecret(
  source: KeySource,
): (req: unknown, token: DecodedToken | undefined) => Promise<KeyObject | undefined> {
  return async function secretOfToken(_req, token) {
    return keyFor(source, token?.header);
  };
}

/**
 * The option `secretOrKeyProvider` of `passport-jwt` 4, with the keys of a source. A token whose key is not
 * known gets none, and is refused there; `done` gets an error when the keys could not be had.
 */
export function passportJwtSecret(
  source: KeySource,
): (req: unknown, token: unknown, done: (error: unknown, secret?: string | Buffer) => void) => void {
  // Its types know texts and bytes only; writing one out for every token would cost more than the look-up.
  const written = new WeakMap<KeyObject, string | Buffer>();

  function secretOf(key: KeyObject): string | Buffer {
    let text = written.get(key);
    if (text === undefined) {
      text = key.type === "secret" ? key.export() : key.export({ type: "spki", format: "pem" });
      written.set(key, text);
    }
    return text;
  }

  return function provideSecret(_req, token, done) {
    keyFor(source, headerOf(token)).then(
      (key) => done(null, key === undefined ? undefined : secretOf(key)),
      (error: unknown) => done(error),
    );
  };
}

async function keyFor(source: KeySource, header: unknown): Promise<KeyObject | undefined> {
  if (typeof header !== "object" || header === null) return undefined;
  const { alg, kid } = header as { alg?: unknown; kid?: unknown };
  if (!isAlgorithm(alg)) return undefined;
  if (kid !== undefined && (typeof kid !== "string" || kid.length > MAX_KID_LENGTH)) return undefined;
  return source.find(kid, alg) ?? (await source.refresh?.(kid, alg));
}

function isAlgorithm(value: unknown): value is Algorithm {
  return (algorithms as readonly unknown[]).includes(value);
}

/** The header of a token as it came; what it says is checked by whoever verifies it. */
function headerOf(token: unknown): unknown {
  if (typeof token !== "string" || token.length > MAX_TOKEN_LENGTH) return undefined;
  try {
    return JSON.parse(Buffer.from(token.slice(0, Math.max(0, token.indexOf("."))), "base64url").toString());
  } catch {
    return undefined;
  }
}

import type { KeyObject } from "node:crypto";
import { type Algorithm, isAlgorithm } from "./algorithms.ts";
import type { KeySource } from "./key-source.ts";
import { MAX_KID_LENGTH, MAX_TOKEN_LENGTH } from "./token-parser.ts";

/** A decoded token as `express-jwt` 7 and 8 passes it. */
interface DecodedToken {
  readonly header: { readonly alg: string; readonly kid?: string | undefined };
}

/**
 * Creates the option `secret` of `express-jwt` 7 or 8 from a key source. Resolves with undefined for an unknown key, so that
 * `express-jwt` refuses the token; rejects when the keys cannot be fetched. Set the option `algorithms` of `express-jwt` to
 * the source's algorithms.
 */
export function expressJwtSecret(
  source: KeySource,
): (req: unknown, token: DecodedToken | undefined) => Promise<KeyObject | undefined> {
  return async function secretOfToken(_req, token) {
    return keyFor(source, token?.header);
  };
}

/**
 * Creates the option `secretOrKeyProvider` of `passport-jwt` 4 from a key source. Passes undefined for an unknown key,
 * so that `passport-jwt` refuses the token; passes an error to `done` when the keys cannot be fetched.
 */
export function passportJwtSecret(
  source: KeySource,
): (req: unknown, token: unknown, done: (error: unknown, secret?: string | Buffer) => void) => void {
  // Cache the exported keys: passport-jwt accepts only strings and bytes, and an export takes longer than a look-up.
  const written = new WeakMap<KeyObject, string | Buffer>();

  function secretOf(key: KeyObject): string | Buffer {
    let text = written.get(key);
    if (text === undefined) {
      text = key.type === "secret" ? key.export() : key.export({ type: "spki", format: "pem" });
      written.set(key, text);
    }
    return text;
  }

  /** Returns the secret without a promise if the key need not be fetched. */
  function secretFor(header: unknown): string | Buffer | undefined | Promise<string | Buffer | undefined> {
    const named = namedIn(header);
    const key = named && source.find(named.kid, named.alg);
    if (key !== undefined) return secretOf(key);
    return named && source.refresh && fetchedSecret(named);
  }

  async function fetchedSecret({ kid, alg }: NamedKey): Promise<string | Buffer | undefined> {
    const key = await source.refresh?.(kid, alg);
    return key && secretOf(key);
  }

  return function provideSecret(_req, token, done) {
    let secret: ReturnType<typeof secretFor>;
    try {
      secret = secretFor(headerOf(token));
    } catch (error) {
      done(error);
      return;
    }
    // The callback may throw: in a promise, that would be an unhandled rejection, which ends the process.
    if (!(secret instanceof Promise)) done(null, secret);
    else secret.then((late) => done(null, late), done);
  };
}

async function keyFor(source: KeySource, header: unknown): Promise<KeyObject | undefined> {
  const named = namedIn(header);
  return named && (source.find(named.kid, named.alg) ?? (await source.refresh?.(named.kid, named.alg)));
}

interface NamedKey {
  readonly kid: string | undefined;
  readonly alg: Algorithm;
}

/** Returns the key that a header names, or undefined if its `alg` or `kid` is unusable. */
function namedIn(header: unknown): NamedKey | undefined {
  if (typeof header !== "object" || header === null) return undefined;
  const { alg, kid } = header as { alg?: unknown; kid?: unknown };
  if (!isAlgorithm(alg)) return undefined;
  if (kid !== undefined && (typeof kid !== "string" || kid.length > MAX_KID_LENGTH)) return undefined;
  return { kid, alg };
}

/** Returns the unchecked header of a token; `passport-jwt` verifies the token. */
function headerOf(token: unknown): unknown {
  if (typeof token !== "string" || token.length > MAX_TOKEN_LENGTH) return undefined;
  try {
    return JSON.parse(Buffer.from(token.slice(0, Math.max(0, token.indexOf("."))), "base64url").toString());
  } catch {
    return undefined;
  }
}

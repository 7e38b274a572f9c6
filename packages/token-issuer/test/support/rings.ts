import { type Algorithm, algorithms } from "@svc/jwt-auth";
import { generateKey, type KeyMaterial, KeyRingError, newRing, type RingDocument } from "@svc/token-issuer";
import { expect } from "chai";

/** A moment in 2030, in milliseconds. */
export const start = Date.UTC(2030, 0, 1);

export const keyPairAlgorithms: readonly Algorithm[] = algorithms.filter((each) => !each.startsWith("HS"));

// Generating RSA keys is slow, so tests share the keys that they do not change.
const drawn = new Map<string, Promise<KeyMaterial>>();

/** Returns the n-th key of an algorithm. */
export function key(algorithm: Algorithm = "ES256", n = 0): Promise<KeyMaterial> {
  const name = `${algorithm} ${n}`;
  const known = drawn.get(name) ?? generateKey({ algorithm });
  drawn.set(name, known);
  return known;
}

/** Returns a ring with one key, created at `start`. */
export async function ring(algorithm: Algorithm = "ES256"): Promise<RingDocument> {
  return newRing(await key(algorithm), start);
}

/** Returns the claims of a token that is issued at a time in milliseconds. */
export function claims(now: number, seconds = 900, typ = "access"): Record<string, unknown> {
  const iat = Math.floor(now / 1000);
  return { sub: "ada", typ, iat, nbf: iat, exp: iat + seconds, jti: "f".repeat(32) };
}

/** Returns the error of a call, which must be a KeyRingError with this reason. */
export function refusal(run: () => unknown, reason: string): KeyRingError {
  let thrown: unknown;
  try {
    run();
  } catch (error) {
    thrown = error;
  }
  expect(thrown, "nothing was refused").to.be.instanceOf(KeyRingError);
  const error = thrown as KeyRingError;
  expect(error).to.include({ code: "ERR_SVC_KEY_RING", reason });
  return error;
}

/** Reads a value repeatedly until `holds` accepts it, because another thread or the file system changes it. Returns the value. */
export async function eventually<T>(read: () => T, holds: (value: T) => boolean): Promise<T> {
  const end = performance.now() + 15_000;
  for (;;) {
    const value = read();
    if (holds(value)) return value;
    if (performance.now() > end) throw new Error("it never came to that");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

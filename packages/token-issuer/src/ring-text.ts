import { algorithms, isAlgorithm, isSymmetric } from "@svc/jwt-auth";
import type { EnvironmentName } from "@svc/options";
import { type JsonWebKey, jwkMaterial } from "./key-material.ts";
import { KeyRingError } from "./key-ring-error.ts";
import type { KeyState, Lifetimes } from "./key-ring.ts";
import type { RingDocument, RingKey } from "./ring-document.ts";
import { MAX_LIVE_KEYS } from "./ring-rules.ts";

/** Maximum length in characters, far longer than any real ring. */
const MAX_TEXT_LENGTH = 1_048_576;

const VERSION = 1;
const states: readonly string[] = ["next", "current", "previous", "retired"];

/**
 * Reads the text that `writeRing()` writes. Checks every key as if it were imported: it must fit its algorithm, its private
 * and public half must match, and its kid must be its thumbprint.
 *
 * @param env where it is used; in `prod` secrets need 32 bytes (AUTH-31). Default: `prod`
 * @throws KeyRingError with the reason `broken`; the message contains no key
 */
export function readRing(text: string, env: EnvironmentName = "prod"): RingDocument {
  if (text.length > MAX_TEXT_LENGTH) throw broken(`is longer than ${MAX_TEXT_LENGTH} characters`);
  const value = record(parse(text), "must be a JSON object");
  if (value["version"] !== VERSION) throw broken(`must have "version": ${VERSION}`);
  const list = value["keys"];
  if (!Array.isArray(list)) throw broken(`must have a list of "keys"`);
  if (list.length > 1000) throw broken("has more than 1000 keys");
  const lifetimes = readLifetimes(value["lifetimes"]);
  const keys = list.map((entry: unknown, index) => readKey(entry, `keys[${index}]`, env));
  checkTogether(keys);
  return { lifetimes, keys };
}

/** Returns the text of a ring with its private keys and secrets: for a file or a secret store, never for a log. */
export function writeRing({ lifetimes, keys }: RingDocument): string {
  const value = {
    version: VERSION,
    lifetimes: {
      access_seconds: lifetimes.accessSeconds,
      refresh_seconds: lifetimes.refreshSeconds,
      leeway_seconds: lifetimes.leewaySeconds,
    },
    keys: keys.map((key) => ({
      kid: key.kid,
      alg: key.algorithm,
      state: key.state,
      published_at: isoDate(key.publishedAt),
      promoted_at: isoDate(key.promotedAt),
      replaced_at: isoDate(key.replacedAt),
      retired_at: isoDate(key.retiredAt),
      jwk: (key.signing ?? key.verifying)?.export({ format: "jwk" }),
    })),
  };
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** Returns a date as text; undefined for undefined. */
export function isoDate(milliseconds: number | undefined): string | undefined {
  return milliseconds === undefined ? undefined : new Date(milliseconds).toISOString();
}

function readKey(entry: unknown, where: string, env: EnvironmentName): RingKey {
  const value = record(entry, `${where} must be an object`);
  const algorithm = value["alg"];
  const state = value["state"];
  const kid = value["kid"];
  if (!isAlgorithm(algorithm)) throw broken(`${where}.alg must be one of ${algorithms.join(", ")}`);
  if (!isState(state)) throw broken(`${where}.state must be one of ${states.join(", ")}`);
  if (typeof kid !== "string" || !/^[\w-]{43}$/.test(kid))
    throw broken(`${where}.kid must be an RFC 7638 thumbprint`);
  const dates = {
    publishedAt: date(value["published_at"], `${where}.published_at`),
    promotedAt: optionalDate(value["promoted_at"], `${where}.promoted_at`),
    replacedAt: optionalDate(value["replaced_at"], `${where}.replaced_at`),
    retiredAt: optionalDate(value["retired_at"], `${where}.retired_at`),
  };
  const note = { kid, algorithm, state, ...dates };
  if (state === "retired") return note;
  if (state === "previous" && dates.replacedAt === undefined)
    throw broken(`${where}.replaced_at is missing: it determines how long the key is kept`);
  return { ...note, ...readMaterial(value["jwk"], note, where, env) };
}

function readMaterial(
  jwk: unknown,
  { kid, algorithm, state }: Pick<RingKey, "kid" | "algorithm" | "state">,
  where: string,
  env: EnvironmentName,
): Pick<RingKey, "signing" | "verifying"> {
  const value = record(jwk, `${where}.jwk must be a JSON Web Key`) as JsonWebKey;
  const material = within(where, () => jwkMaterial(value, algorithm, env));
  if (material.kid !== kid) throw broken(`${where}.kid is not the thumbprint of its key`);
  if (state !== "previous" && material.signing === undefined)
    throw broken(`${where}.jwk is a public key; a ${state} key needs the private one`);
  // Drop the private half of a replaced key: the issuer does not need it, and a thief could use it.
  const signing = state === "previous" && !isSymmetric(algorithm) ? undefined : material.signing;
  return { signing, verifying: material.verifying };
}

function checkTogether(keys: readonly RingKey[]): void {
  const live = keys.filter((key) => key.state !== "retired");
  const count = (state: KeyState): number => keys.filter((key) => key.state === state).length;
  if (count("current") !== 1) throw broken(`must have one current key; it has ${count("current")}`);
  if (count("next") > 1) throw broken("has more than one next key");
  if (live.length > MAX_LIVE_KEYS) throw broken(`has more than ${MAX_LIVE_KEYS} keys that are not retired`);
  if (new Set(keys.map((key) => key.kid)).size !== keys.length) throw broken("contains the same key twice");
  const secrets = live.filter((key) => isSymmetric(key.algorithm)).length;
  if (secrets !== 0 && secrets !== live.length)
    throw broken("mixes secrets with key pairs; use a separate ring for each");
}

function readLifetimes(given: unknown): Lifetimes {
  const value = record(given, `must have "lifetimes"`);
  return {
    accessSeconds: seconds(value["access_seconds"], "access_seconds", 1),
    refreshSeconds: seconds(value["refresh_seconds"], "refresh_seconds", 1),
    leewaySeconds: seconds(value["leeway_seconds"], "leeway_seconds", 0),
  };
}

function seconds(value: unknown, name: string, min: number): number {
  if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= 1e10)
    return value as number;
  throw broken(`lifetimes.${name} must be a whole number of at least ${min}`);
}

function optionalDate(value: unknown, where: string): number | undefined {
  return value === undefined ? undefined : date(value, where);
}

function date(value: unknown, where: string): number {
  const time = typeof value === "string" ? Date.parse(value) : NaN;
  if (Number.isNaN(time)) throw broken(`${where} must be a date, for example 2030-01-31T12:00:00.000Z`);
  return time;
}

function isState(value: unknown): value is KeyState {
  return typeof value === "string" && states.includes(value);
}

function record(value: unknown, message: string): Readonly<Record<string, unknown>> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  throw broken(message);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Omit the parser's message, which quotes the text.
    throw broken("is not JSON");
  }
}

function within<T>(where: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof KeyRingError) throw broken(`${where}: ${error.message}`);
    throw error;
  }
}

function broken(message: string): KeyRingError {
  return new KeyRingError("broken", `the key ring ${message}`);
}

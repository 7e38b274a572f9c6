import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from "node:crypto";
import { LONGEST_RETURN_TO } from "./return-to.ts";

/** The state of one sign-in attempt, kept in its cookie (OIDC-6). */
export interface Attempt {
  readonly provider: string;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly return_to: string;
  /** Seconds since the Unix epoch. */
  readonly issued_at: number;
}

/** Seconds within which an attempt must be completed. */
export const ATTEMPT_SECONDS = 600;

const IV_BYTES = 12;
const TAG_BYTES = 16;
const LONGEST_VALUE = 2 * (LONGEST_RETURN_TO + 512);
const VALUE = /^[\w-]+$/;

/** Encrypts attempts into cookie values with the first secret, and decrypts them with any of the secrets. */
export interface AttemptCookies {
  /** Returns the name of an attempt's cookie (OIDC-5). */
  nameOf(state: string): string;
  /** Returns whether a cookie with this name is a login cookie. */
  owns(name: string): boolean;
  seal(name: string, attempt: Attempt): string;
  /** Decrypts a value. Returns undefined for a value that was not encrypted with our secrets under this name. */
  open(name: string, value: string): Attempt | undefined;
  /** Returns the `Set-Cookie` line that stores a value. */
  write(name: string, value: string): string;
  /** Returns the `Set-Cookie` line that deletes a cookie. */
  forget(name: string): string;
}

export function attemptCookies(secrets: readonly string[], secure: boolean): AttemptCookies {
  const keys = secrets.map((secret) =>
    Buffer.from(hkdfSync("sha256", secret, "", "svc oidc-login attempt cookie 1", 32)),
  );
  const prefix = secure ? "__Host-svc_login_" : "svc_login_";
  const shape = new RegExp(`^${prefix}[\\w-]{16}$`);
  const flags = `Path=/; HttpOnly; SameSite=Lax${secure ? "; Secure" : ""}`;

  return {
    nameOf: (state) => prefix + createHash("sha256").update(state).digest("base64url").slice(0, 16),
    owns: (name) => shape.test(name),
    seal(name, attempt) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv("aes-256-gcm", keys[0] as Buffer, iv).setAAD(Buffer.from(name));
      const sealed = [iv, cipher.update(JSON.stringify(attempt)), cipher.final(), cipher.getAuthTag()];
      return Buffer.concat(sealed).toString("base64url");
    },
    open(name, value) {
      if (value.length > LONGEST_VALUE || !VALUE.test(value)) return undefined;
      const bytes = Buffer.from(value, "base64url");
      if (bytes.length <= IV_BYTES + TAG_BYTES) return undefined;
      for (const key of keys) {
        const text = opened(key, name, bytes);
        // Only this package encrypts with this key, so the text needs no validation.
        if (text !== undefined) return JSON.parse(text) as Attempt;
      }
      return undefined;
    },
    write: (name, value) => `${name}=${value}; Max-Age=${ATTEMPT_SECONDS}; ${flags}`,
    forget: (name) => `${name}=; Max-Age=0; ${flags}`,
  };
}

function opened(key: Buffer, name: string, bytes: Buffer): string | undefined {
  const tag = bytes.subarray(bytes.length - TAG_BYTES);
  try {
    const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, IV_BYTES))
      .setAAD(Buffer.from(name))
      .setAuthTag(tag);
    const sealed = bytes.subarray(IV_BYTES, bytes.length - TAG_BYTES);
    return Buffer.concat([decipher.update(sealed), decipher.final()]).toString("utf8");
  } catch {
    return undefined;
  }
}

/** Parses the cookies of a request; the first of several cookies with the same name wins. */
export function cookiesOf(header: string | undefined): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const pair of (header ?? "").split(";")) {
    const equals = pair.indexOf("=");
    if (equals === -1) continue;
    const name = pair.slice(0, equals).trim();
    if (!found.has(name)) found.set(name, pair.slice(equals + 1).trim());
  }
  return found;
}

/** Returns whether an attempt can still be completed. Accepts dates up to `leewaySeconds` ahead: replica clocks differ. */
export function isLive({ issued_at }: Attempt, nowSeconds: number, leewaySeconds: number): boolean {
  return issued_at <= nowSeconds + leewaySeconds && nowSeconds < issued_at + ATTEMPT_SECONDS;
}

const MOST_LIVE = 5;
/** Maximum total size, in bytes, of older login cookies next to a new one, because proxies limit the size of headers. */
const MOST_KEPT_BYTES = 4096;
const MOST_FORGOTTEN = 20;

/** Returns the cookies to delete before adding one: undecipherable cookies, expired cookies, then the oldest. */
export function surplus(
  cookies: AttemptCookies,
  present: ReadonlyMap<string, string>,
  holds: (attempt: Attempt) => boolean,
): readonly string[] {
  const live: { readonly name: string; readonly size: number; readonly at: number }[] = [];
  const gone: string[] = [];
  for (const [name, value] of present) {
    if (!cookies.owns(name)) continue;
    const attempt = cookies.open(name, value);
    if (attempt === undefined || !holds(attempt)) gone.push(name);
    else live.push({ name, size: name.length + value.length, at: attempt.issued_at });
  }
  // Among attempts of the same second, header order decides: browsers send the oldest cookie first.
  live.reverse().sort((a, b) => b.at - a.at);
  let kept = 0;
  let bytes = 0;
  for (const { name, size } of live) {
    bytes += size;
    if (kept < MOST_LIVE - 1 && bytes <= MOST_KEPT_BYTES) kept += 1;
    else gone.push(name);
  }
  return gone.slice(0, MOST_FORGOTTEN);
}

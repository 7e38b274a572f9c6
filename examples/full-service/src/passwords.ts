import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { createTurns } from "./turns.ts";

/** The cost of scrypt: memory is 128 * N * r bytes, time grows with N * r * p. */
export interface ScryptCost {
  readonly N: number;
  readonly r: number;
  readonly p: number;
}

/** Costs 32 MiB and about 0.2 s of a thread. A stored hash contains its cost, so this may be raised at any time. */
export const recommendedCost: ScryptCost = { N: 2 ** 15, r: 8, p: 3 };

/** Derives a hash from a password; tests replace it to count calls. */
export type Derive = (password: string, salt: Buffer, cost: ScryptCost) => Promise<Buffer>;

/** Options of {@link createPasswords}. */
export interface PasswordsOptions {
  /** Cost of new hashes. Default: {@link recommendedCost}. */
  readonly cost?: ScryptCost | undefined;
  /** Derives the hashes. Default: scrypt in the thread pool. */
  readonly derive?: Derive | undefined;
  /**
   * Maximum number of concurrent derivations: the pool has four threads, which file access and DNS need too. Default: 2.
   */
  readonly atOnce?: number | undefined;
  /** Maximum number of waiting checks. Further checks get a 503. Default: 16. */
  readonly waiting?: number | undefined;
}

/** Hashes and checks passwords with scrypt. */
export interface Passwords {
  /** Returns the hash to store: `scrypt$N$r$p$salt$hash`, with a new salt. */
  readonly hash: (password: string) => Promise<string>;
  /**
   * Returns whether the hash was made from this password. Without a stored hash it takes the same time, so that the
   * time does not reveal whether an account exists.
   *
   * @param signal cancels the wait for a turn; its reason is thrown
   * @throws ProblemError 503 while too many passwords are being checked
   */
  readonly matches: (
    password: string,
    stored: string | null | undefined,
    signal?: AbortSignal,
  ) => Promise<boolean>;
}

const hashBytes = 32;

/** Returns the password in one Unicode form, so that composed and decomposed letters are equal. */
export function composed(password: string): string {
  return password.normalize("NFKC");
}

export function createPasswords({
  cost = recommendedCost,
  derive = scryptOf,
  atOnce = 2,
  waiting = 16,
}: PasswordsOptions = {}): Passwords {
  const inTurn = createTurns(atOnce, waiting);
  const unknownUser: Stored = { cost, salt: randomBytes(16), hash: randomBytes(hashBytes) };

  return {
    async hash(password) {
      const salt = randomBytes(16);
      const hash = await derive(password, salt, cost);
      const { N, r, p } = cost;
      return ["scrypt", N, r, p, salt.toString("base64url"), hash.toString("base64url")].join("$");
    },
    async matches(password, stored, signal) {
      const known = stored === null || stored === undefined ? undefined : parse(stored);
      const { salt, hash, cost: made } = known ?? unknownUser;
      const derived = await inTurn(() => derive(password, salt, made), signal);
      return derived.length === hash.length && timingSafeEqual(derived, hash) && known !== undefined;
    },
  };
}

interface Stored {
  readonly cost: ScryptCost;
  readonly salt: Buffer;
  readonly hash: Buffer;
}

function parse(stored: string): Stored {
  const [scheme, N, r, p, salt, hash] = stored.split("$");
  if (scheme !== "scrypt" || salt === undefined || hash === undefined) {
    throw new Error("the stored hash of a password was not made by this service");
  }
  return {
    cost: { N: Number(N), r: Number(r), p: Number(p) },
    salt: Buffer.from(salt, "base64url"),
    hash: Buffer.from(hash, "base64url"),
  };
}

function scryptOf(password: string, salt: Buffer, { N, r, p }: ScryptCost): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // Use twice the memory of scrypt's table, because Node needs memory in addition to the table.
    scrypt(composed(password), salt, hashBytes, { N, r, p, maxmem: 256 * N * r }, (error, hash) => {
      if (error === null) resolve(hash);
      else reject(error);
    });
  });
}

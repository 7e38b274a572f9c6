import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { createTurns } from "./turns.ts";

/** What scrypt costs: memory is 128 * N * r bytes, time grows with N * r * p. */
export interface ScryptCost {
  readonly N: number;
  readonly r: number;
  readonly p: number;
}

/** 32 MiB and some 0.2 s of a thread. What is stored says what it was made with, so it may be raised at any time. */
export const recommendedCost: ScryptCost = { N: 2 ** 15, r: 8, p: 3 };

/** Stretches a password; in tests something that counts. */
export type Derive = (password: string, salt: Buffer, cost: ScryptCost) => Promise<Buffer>;

/** What {@link createPasswords} takes. */
export interface PasswordsOptions {
  /** For passwords that are stored from now on. Default: {@link recommendedCost}. */
  readonly cost?: ScryptCost | undefined;
  /** Default: scrypt in the thread pool. */
  readonly derive?: Derive | undefined;
  /** How many run at once: the pool has four threads, which files and names of hosts need too. Default: 2. */
  readonly atOnce?: number | undefined;
  /** How many wait for their turn; whoever comes on top gets a 503. Default: 16. */
  readonly waiting?: number | undefined;
}

/** Keeps passwords as what scrypt makes of them. */
export interface Passwords {
  /** What is stored of a password: `scrypt$N$r$p$salt$hash`, with a salt of its own. */
  readonly hash: (password: string) => Promise<string>;
  /**
   * Whether it is the password of which this was stored. Where nothing is stored it costs the same, so that nobody
   * learns from the time whether there is such an account.
   *
   * @param signal gives up a turn that has not come yet: its reason is thrown
   * @throws ProblemError 503 while too many are being looked at
   */
  readonly matches: (
    password: string,
    stored: string | null | undefined,
    signal?: AbortSignal,
  ) => Promise<boolean>;
}

const hashBytes = 32;

/** The same text however its letters were typed and composed. */
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
  const nobodys: Stored = { cost, salt: randomBytes(16), hash: randomBytes(hashBytes) };

  return {
    async hash(password) {
      const salt = randomBytes(16);
      const hash = await derive(password, salt, cost);
      const { N, r, p } = cost;
      return ["scrypt", N, r, p, salt.toString("base64url"), hash.toString("base64url")].join("$");
    },
    async matches(password, stored, signal) {
      const known = stored === null || stored === undefined ? undefined : parse(stored);
      const { salt, hash, cost: made } = known ?? nobodys;
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
    throw new Error("what is stored of a password is not of this service");
  }
  return {
    cost: { N: Number(N), r: Number(r), p: Number(p) },
    salt: Buffer.from(salt, "base64url"),
    hash: Buffer.from(hash, "base64url"),
  };
}

function scryptOf(password: string, salt: Buffer, { N, r, p }: ScryptCost): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // Twice what it needs: Node counts some more than the table.
    scrypt(composed(password), salt, hashBytes, { N, r, p, maxmem: 256 * N * r }, (error, hash) => {
      if (error === null) resolve(hash);
      else reject(error);
    });
  });
}

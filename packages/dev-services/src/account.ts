import { createHash } from "node:crypto";
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  statfsSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

/** The account that runs a server which refuses to run as root. */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** Returns whether this process runs as root. */
export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/**
 * Returns the account for servers that refuse to run as root: `postgres` if it exists, else `nobody`; undefined if this
 * process is not root. The account must be listed in `passwd`, because PostgreSQL looks up its name.
 *
 * @throws Error when neither account exists
 */
export function serverAccount(passwd = "/etc/passwd"): Account | undefined {
  if (!isRoot()) return undefined;
  const rows = readFileSync(passwd, "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  for (const wanted of ["postgres", "nobody"]) {
    const row = rows.find(([name]) => name === wanted);
    if (row !== undefined) return { name: wanted, uid: Number(row[2]), gid: Number(row[3]) };
  }
  throw new Error(
    `PostgreSQL does not run as root, and ${passwd} has neither an account postgres nor an account nobody`,
  );
}

/** Returns whether every user may traverse a folder and all its parent folders. */
function isOpen(folder: string): boolean {
  for (let at = realpathSync(folder); ; at = dirname(at)) {
    if ((statSync(at).mode & 0o001) === 0) return false;
    if (dirname(at) === at) return true;
  }
}

function firstOpen(candidates: readonly string[]): string {
  const found = candidates.find((folder) => {
    try {
      return !isRoot() || isOpen(folder);
    } catch {
      return false;
    }
  });
  if (found === undefined)
    throw new Error(`no folder is accessible to every account; tried ${candidates.join(", ")}`);
  return found;
}

const sharedMemory = "/dev/shm";
const TMPFS = 0x0102_1994;
const PLENTY = 8 * 2 ** 30;

/** Options of {@link scratchFolder}. */
export interface ScratchOptions {
  /** The environment with `SVC_TEST_RUN`, which `npm test` sets. Default: `process.env`. */
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** Bytes of memory that must be free for an in-memory folder. Default: 8 GiB. */
  readonly plenty?: number | undefined;
}

/**
 * Returns the in-memory folder if this process runs under `npm test` and enough memory is free, else an empty list. A
 * PostgreSQL server has a thousand files; on a disk, creating and removing them takes longer than many tests.
 */
function inMemory({ env = process.env, plenty = PLENTY }: ScratchOptions): readonly string[] {
  if ((env.SVC_TEST_RUN ?? "") === "") return [];
  try {
    accessSync(sharedMemory, constants.W_OK | constants.X_OK);
  } catch {
    return [];
  }
  const { type, bavail, bsize } = statfsSync(sharedMemory);
  return type === TMPFS && Math.min(bavail * bsize, process.availableMemory()) > plenty ? [sharedMemory] : [];
}

/** Returns whether a folder created by {@link scratchFolder} is in memory. */
export function isInMemory(folder: string): boolean {
  return folder.startsWith(`${sharedMemory}/`);
}

/** Creates a folder for one temporary server, which the server's account can enter. */
export function scratchFolder(prefix: string, options: ScratchOptions = {}): string {
  const candidates = [...inMemory(options), tmpdir(), "/tmp", "/var/tmp"];
  const folder = mkdtempSync(join(firstOpen(candidates), prefix));
  if (isRoot()) chmodSync(folder, 0o711);
  return folder;
}

/**
 * Returns the path of a folder outside the checkout for files that are kept between runs. The server's account may be
 * unable to enter the checkout.
 */
export function keptFolder(name: string): string {
  return join(firstOpen(["/var/tmp", tmpdir(), "/tmp"]), name);
}

/**
 * Returns the data folder of a checkout's demo: `.svc/postgres` in the checkout, or for root a folder under `/var/tmp`
 * named after the checkout.
 */
export function demoFolder(checkout: string): string {
  const path = resolve(checkout);
  if (!isRoot()) return join(path, ".svc", "postgres");
  return keptFolder(`svc-${createHash("sha256").update(path).digest("hex").slice(0, 12)}`);
}

/**
 * Creates a folder, or accepts an existing one that belongs to this user and that no other user can write to.
 *
 * @throws Error for any other existing folder
 */
export function ownFolder(folder: string): void {
  mkdirSync(dirname(folder), { recursive: true });
  try {
    mkdirSync(folder, { mode: isRoot() ? 0o711 : 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    const found = lstatSync(folder);
    const mine = process.getuid === undefined || found.uid === process.getuid();
    if (!found.isDirectory() || !mine)
      throw new Error(`${folder} exists but is not a folder that this user owns`);
    // Windows does not have these permission bits and reports all of them as set.
    if (process.getuid !== undefined && (found.mode & 0o022) !== 0)
      throw new Error(`${folder} exists, and other users may write to it`);
  }
}

/** Creates a folder that only the server's account may use. */
export function privateFolder(folder: string, account: Account | undefined): void {
  mkdirSync(folder, { mode: 0o700 });
  if (account !== undefined) chownSync(folder, account.uid, account.gid);
}

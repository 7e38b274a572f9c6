import { hash, randomUUID } from "node:crypto";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { SearchError } from "../errors.ts";

interface Holder {
  readonly pid: number;
  readonly host: string;
  readonly token: string;
}

// Identifies this process in its locks, because process ids are reused: in a container, a program often has the same id
// at every start.
const here = randomUUID();

/**
 * Locks a folder against other processes with a file next to it. Takes over a lock that a terminated process on the same
 * host left behind.
 *
 * @returns a function that releases the lock
 * @throws SearchError `ERR_SVC_SEARCH_EMBEDDED` while another process holds the lock
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const file = `${folder}.lock`;
  const holder: Holder = { pid: process.pid, host: hostname(), token: here + randomUUID() };
  await writeLock(file, holder);
  return async () => {
    // Another process may have taken over the lock.
    if ((await holderOf(file))?.token === holder.token) await rm(file, { force: true });
  };
}

/**
 * Creates the lock file, or takes over an abandoned one. Only one process takes over: it creates a second file, named
 * after the abandoned lock's token, and renames it over the lock file, so that the lock file always exists. If that
 * process terminates before the rename, another one takes over the second file in the same way.
 */
async function writeLock(file: string, holder: Holder): Promise<void> {
  try {
    return await writeFile(file, JSON.stringify(holder), { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
  const left = await holderOf(file);
  if (left === undefined || !isGone(left)) throw taken(file, left);
  // Hash the token, since it may be any string, such as a path.
  const next = `${file}.${hash("sha256", left.token).slice(0, 16)}`;
  await writeLock(next, holder);
  try {
    const now = await holderOf(file);
    if (now?.token !== left.token) throw taken(file, now);
    await rename(next, file);
  } catch (error) {
    await rm(next, { force: true });
    throw error;
  }
}

/** Returns the holder of a lock, or undefined if the file is missing, incomplete or not a lock file. */
async function holderOf(file: string): Promise<Holder | undefined> {
  try {
    const { pid, host, token } = JSON.parse(await readFile(file, "utf8")) as Partial<Holder>;
    if (typeof pid === "number" && typeof host === "string" && typeof token === "string")
      return { pid, host, token };
  } catch (error) {
    const code = codeOf(error);
    if (code !== undefined && code !== "ENOENT") throw error;
  }
  return undefined;
}

function isGone({ pid, host, token }: Holder): boolean {
  if (host !== hostname()) return false;
  if (pid === process.pid) return !token.startsWith(here);
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return codeOf(error) === "ESRCH";
  }
}

function taken(file: string, holder?: Holder): SearchError {
  const who = holder === undefined ? "another process" : `process ${holder.pid} on ${holder.host}`;
  return new SearchError(
    "ERR_SVC_SEARCH_EMBEDDED",
    `${who} has the folder open; only one process at a time may open it. If that process has ended, delete ${file}`,
  );
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code;
}

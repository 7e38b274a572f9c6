import { hash, randomUUID } from "node:crypto";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { SearchError } from "../errors.ts";

interface Holder {
  readonly pid: number;
  readonly host: string;
  readonly token: string;
}

// A process number may be given again, in a container always the same one: the tokens of this process begin like this.
const here = randomUUID();

/**
 * Keeps a second process off a folder by a file beside it, which is made by whoever comes first. One that a process of this
 * computer left behind when it ended is taken over.
 *
 * @returns what lets go of it
 * @throws SearchError `ERR_SVC_SEARCH_EMBEDDED` while somebody has it
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const file = `${folder}.lock`;
  const holder: Holder = { pid: process.pid, host: hostname(), token: here + randomUUID() };
  await writeLock(file, holder);
  return async () => {
    // By now it may be somebody else's.
    if ((await holderOf(file))?.token === holder.token) await rm(file, { force: true });
  };
}

/**
 * What was left behind has one successor: who gets the lock named after it puts that in its place, so that the path is never
 * free. One that ended before it did so has a successor too.
 */
async function writeLock(file: string, holder: Holder): Promise<void> {
  try {
    return await writeFile(file, JSON.stringify(holder), { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
  const left = await holderOf(file);
  if (left === undefined || !isGone(left)) throw taken(file, left);
  // Its token may be any text, and no path.
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

/** Undefined when the file is gone by now, is being written, or is something else. */
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
  const who = holder === undefined ? "somebody" : `process ${holder.pid} on ${holder.host}`;
  return new SearchError(
    "ERR_SVC_SEARCH_EMBEDDED",
    `${who} has the folder open, which takes one process at a time; when that is gone, delete ${file}`,
  );
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code;
}

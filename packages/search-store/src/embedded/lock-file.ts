import { randomUUID } from "node:crypto";
import { open, readFile, rename, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { SearchError } from "../errors.ts";

interface Holder {
  readonly pid: number;
  readonly host: string;
  readonly token: string;
}

// One process number may be given again, in a container always the same one: what this process holds it knows itself.
const held = new Set<string>();
const ROUNDS = 5;

/**
 * Keeps a second process off a folder by a file beside it, which is made by whoever comes first. One that a process of this
 * computer left behind when it ended is taken over.
 *
 * @returns what lets go of it
 * @throws SearchError `ERR_SVC_SEARCH_EMBEDDED` while somebody has it
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const file = `${folder}.lock`;
  const holder: Holder = { pid: process.pid, host: hostname(), token: randomUUID() };
  // Of several in this process one goes on, before anything is waited for.
  if (held.has(file)) throw taken(file, holder);
  held.add(file);
  try {
    await writeLock(file, holder);
  } catch (error) {
    held.delete(file);
    throw error;
  }
  let unlocked = false;
  return async () => {
    if (unlocked) return;
    unlocked = true;
    await rm(file, { force: true }).finally(() => held.delete(file));
  };
}

async function writeLock(file: string, holder: Holder): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    try {
      const handle = await open(file, "wx", 0o600);
      await handle.writeFile(JSON.stringify(holder));
      await handle.close();
      return;
    } catch (error) {
      if ((error as { code?: unknown }).code !== "EEXIST") throw error;
    }
    const other = await holderOf(file);
    if (other === undefined) continue;
    if (!isGone(other)) throw taken(file, other);
    await takeAway(file, other);
  }
  throw taken(file, undefined);
}

/** Undefined when the file is gone by now. */
async function holderOf(file: string): Promise<Holder | undefined> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as { code?: unknown }).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    const seen = JSON.parse(text) as Partial<Holder> | null;
    if (typeof seen?.pid === "number" && typeof seen.host === "string" && typeof seen.token === "string") {
      return { pid: seen.pid, host: seen.host, token: seen.token };
    }
  } catch {
    // Said below: somebody else's file, or one that is being written.
  }
  throw taken(file, undefined);
}

function isGone({ pid, host }: Holder): boolean {
  if (host !== hostname()) return false;
  if (pid === process.pid) return true;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as { code?: unknown }).code === "ESRCH";
  }
}

/** Two may have found it left behind: the second must not take away what the first has made meanwhile. */
async function takeAway(file: string, left: Holder): Promise<void> {
  const aside = `${file}.${randomUUID()}`;
  try {
    await rename(file, aside);
  } catch {
    return;
  }
  // What cannot be read is being written.
  const moved = await holderOf(aside).catch(() => undefined);
  if (moved?.token !== left.token) {
    await rename(aside, file);
    throw taken(file, moved);
  }
  await rm(aside, { force: true });
}

function taken(file: string, holder: Holder | undefined): SearchError {
  const who = holder === undefined ? "somebody" : `process ${holder.pid} on ${holder.host}`;
  return new SearchError(
    "ERR_SVC_SEARCH_EMBEDDED",
    `${who} has the folder open, which takes one process at a time; when that is gone, delete ${file}`,
  );
}

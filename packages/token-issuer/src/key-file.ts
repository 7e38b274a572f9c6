import { closeSync, fstatSync, openSync, readFileSync, type Stats, statSync } from "node:fs";
import { type FileHandle, open, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { randomUUID } from "node:crypto";
import { KeyRingError } from "./key-ring-error.ts";

/** The name of a ring's file in a directory. */
export const FILE_NAME = "keys.json";

const MAX_BYTES = 1_048_576;

/** Returns the path of a ring's file: the path itself, or `keys.json` in the directory that it names. */
export function ringFile(path: string): string {
  try {
    return statSync(path).isDirectory() ? join(path, FILE_NAME) : path;
  } catch {
    return path;
  }
}

/**
 * Reads the text of a ring's file.
 *
 * @throws KeyRingError when it cannot be read, when users other than its owner and group may read it, or when users other
 *   than its owner may change it
 */
export function readKeyFileNow(file: string): string {
  return translated(file, () => {
    const descriptor = openSync(file, "r");
    try {
      refuseUnsafe(file, fstatSync(descriptor));
      return readFileSync(descriptor, "utf8");
    } finally {
      closeSync(descriptor);
    }
  });
}

/** Like `readKeyFileNow()`, but without blocking the event loop. */
export async function readKeyFile(file: string): Promise<string> {
  try {
    await using handle = await open(file, "r");
    refuseUnsafe(file, await handle.stat());
    return await handle.readFile("utf8");
  } catch (error) {
    throw readable(file, error);
  }
}

/** Returns a string that changes when the file is written or replaced; undefined when the file is missing. */
export async function fileMark(file: string): Promise<string | undefined> {
  try {
    const { ino, size, mtimeMs, ctimeMs } = await stat(file);
    return `${ino} ${size} ${mtimeMs} ${ctimeMs}`;
  } catch {
    return undefined;
  }
}

/**
 * Replaces a ring's file by renaming a complete one, so a reader never sees a partial file. A new file gets mode 0600; a
 * replaced file keeps its owner, its group and the group's read permission.
 *
 * @param exclusive whether an existing file is an error
 * @throws KeyRingError when the file exists and `exclusive` is set, or cannot be written
 */
export async function writeKeyFile(path: string, text: string, exclusive = false): Promise<void> {
  const before = await stat(path).catch(() => undefined);
  if (exclusive && before !== undefined)
    throw new KeyRingError("exists", `${path} already exists; use add and promote to change it`);
  let draft: string | undefined;
  try {
    // Replace the target of a symbolic link, not the link.
    const file = before === undefined ? path : await realpath(path);
    const name = `${file}.${randomUUID()}.new`;
    await using handle = await open(name, "wx", 0o600);
    draft = name;
    if (before !== undefined) await keepOwner(handle, before);
    await handle.writeFile(text);
    await handle.sync();
    await rename(draft, file);
    draft = undefined;
    await syncDirectory(dirname(file));
  } catch (error) {
    throw readable(path, error);
  } finally {
    if (draft !== undefined) await rm(draft, { force: true });
  }
}

/**
 * Copies owner, group and group permission of the old file, so that the service can read what an administrator writes.
 */
async function keepOwner(handle: FileHandle, { uid, gid, mode }: Stats): Promise<void> {
  if (process.platform === "win32") return;
  const own = await handle.stat();
  if (own.uid !== uid || own.gid !== gid) await handle.chown(uid, gid);
  await handle.chmod(0o600 | (mode & 0o040));
}

/**
 * Runs a change of a file while a lock keeps other commands from changing it.
 *
 * @throws KeyRingError with the reason `locked` while another command holds the lock
 */
export async function whileLocked<T>(file: string, change: () => Promise<T>): Promise<T> {
  const lock = `${file}.lock`;
  try {
    await (await open(lock, "wx", 0o600)).close();
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw readable(lock, error);
    throw new KeyRingError(
      "locked",
      `another command is changing ${file}; if none is running, delete ${lock}`,
    );
  }
  try {
    return await change();
  } finally {
    await rm(lock, { force: true });
  }
}

// Makes a rename durable. Ignores errors, because Windows cannot open directories.
async function syncDirectory(path: string): Promise<void> {
  try {
    await using handle = await open(path, "r");
    await handle.sync();
  } catch {
    // The file is complete in any case. After a power cut only the rename may be lost.
  }
}

function refuseUnsafe(file: string, { mode, size }: Stats): void {
  if (size > MAX_BYTES) throw new KeyRingError("broken", `${file} is longer than ${MAX_BYTES} bytes`);
  // Windows has no permission bits. The group may read, since mounted secrets belong to root and a group of the service.
  if (process.platform === "win32" || (mode & 0o027) === 0) return;
  const octal = (mode & 0o777).toString(8).padStart(4, "0");
  throw new KeyRingError("exposed", `${file} has mode ${octal}: others may read or change it; run chmod 600`);
}

function translated<T>(file: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw readable(file, error);
  }
}

function readable(file: string, error: unknown): Error {
  if (error instanceof KeyRingError) return error;
  return new KeyRingError("unreadable", `${file} cannot be read or written: ${codeOf(error)}`, {
    cause: error,
  });
}

function codeOf(error: unknown): string {
  const code = (error as { readonly code?: unknown }).code;
  return typeof code === "string" ? code : "unknown error";
}

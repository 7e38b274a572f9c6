import { type FSWatcher, watch } from "node:fs";
import { dirname } from "node:path";
import { fileMark, readKeyFile, ringFile } from "./key-file.ts";

/** The watched path and the listeners for its changes. */
export interface KeyWatchEvents {
  /** The configured path: a file, or a directory with one. */
  readonly path: string;
  readonly pollSeconds: number;
  /** Receives the file's text when it may have changed. An exception counts as a failure. */
  readonly changed: (text: string) => void;
  /** Called with the error after every check in which the file could not be read or used. */
  readonly failed: (error: unknown) => void;
}

// Editors and mounts write a file in several steps, so wait before reading it.
const DEBOUNCE_MS = 50;

/**
 * Watches a ring's file by file system events and by a check every few seconds, because network file systems and mounted
 * secrets send no events. After a failure every check reads the file again.
 *
 * @returns a function that stops watching
 */
export function watchKeys({ path, pollSeconds, changed, failed }: KeyWatchEvents): () => void {
  let stopped = false;
  let looking = false;
  let again = false;
  let taken: string | undefined;
  let poll: NodeJS.Timeout | undefined;
  let settle: NodeJS.Timeout | undefined;
  const watcher = startWatching(dirname(ringFile(path)), () => {
    clearTimeout(settle);
    settle = setTimeout(() => void look(), DEBOUNCE_MS).unref();
  });

  async function look(): Promise<void> {
    if (looking) again = true;
    if (looking || stopped) return;
    looking = true;
    const file = ringFile(path);
    try {
      const mark = await fileMark(file);
      if (mark === undefined || mark !== taken) {
        const text = await readKeyFile(file);
        if (!isStopped()) changed(text);
        taken = mark;
      }
    } catch (error) {
      taken = undefined;
      if (!isStopped()) failed(error);
    } finally {
      looking = false;
    }
    schedule();
  }

  function isStopped(): boolean {
    return stopped;
  }

  function schedule(): void {
    clearTimeout(poll);
    if (stopped) return;
    poll = setTimeout(() => void look(), again ? DEBOUNCE_MS : pollSeconds * 1000).unref();
    again = false;
  }

  schedule();
  return () => {
    stopped = true;
    clearTimeout(poll);
    clearTimeout(settle);
    watcher?.close();
  };
}

function startWatching(directory: string, notice: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(directory, { persistent: false }, notice);
    // Polling continues without the watcher.
    watcher.on("error", () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
}

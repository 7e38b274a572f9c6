import { open, stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { type JsonObject, parseObject } from "./answer.ts";
import { InvalidUse } from "./faults.ts";

/** One line of the service's log. */
export interface LogLine {
  readonly text: string;
  /** The line as a JSON object, if it is one. */
  readonly value: JsonObject | undefined;
}

/** A log line may be written shortly after the response. */
const patienceMs = 2000;

export type LogReader = Awaited<ReturnType<typeof createLogReader>>;

/**
 * Creates the reader of the log that the service writes during the checks.
 * @param source a file, whose existing content is skipped, or a function that returns the complete log text so far
 */
export async function createLogReader(source: string | (() => string | Promise<string>)) {
  const readMore = typeof source === "string" ? await fileReader(source) : textReader(source);
  const lines: LogLine[] = [];
  let rest = "";

  async function update(): Promise<void> {
    const more = await readMore();
    if (more === "") return;
    const parts = (rest + more).split("\n");
    rest = parts.pop() ?? "";
    for (const text of parts) if (text.trim() !== "") lines.push({ text, value: parseObject(text) });
  }
  let updating: Promise<void> | undefined;
  // Concurrent checks share one read, so that each of them sees all lines.
  const refresh = (): Promise<void> => (updating ??= update().finally(() => (updating = undefined)));

  return {
    /** Returns all lines so far. */
    async lines(): Promise<readonly LogLine[]> {
      await refresh();
      return lines;
    },
    /** Returns the lines that contain a string, once one of them matches `fits` or the wait has timed out. */
    async about(text: string, fits: (line: LogLine) => boolean = () => true): Promise<readonly LogLine[]> {
      const deadline = performance.now() + patienceMs;
      const found: LogLine[] = [];
      for (let read = 0; ;) {
        await refresh();
        for (const line of lines.slice(read)) if (line.text.includes(text)) found.push(line);
        read = lines.length;
        if (found.some(fits) || performance.now() > deadline) return found;
        await sleep(20);
      }
    },
  };
}

async function fileReader(path: string): Promise<() => Promise<string>> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) throw new InvalidUse([`log: ${path} cannot be read`]);
  if (found.isDirectory()) throw new InvalidUse([`log: ${path} is a directory`]);
  let at = found.size;
  return async () => {
    const file = await open(path, "r");
    try {
      const { size } = await file.stat();
      if (size <= at) return "";
      const { buffer, bytesRead } = await file.read(Buffer.alloc(size - at), 0, size - at, at);
      // Leave an incomplete last line, which may end within a character, for the next read.
      const whole = buffer.subarray(0, bytesRead).lastIndexOf(0x0a) + 1;
      at += whole;
      return buffer.subarray(0, whole).toString("utf8");
    } finally {
      await file.close();
    }
  };
}

function textReader(give: () => string | Promise<string>): () => Promise<string> {
  let at = 0;
  return async () => {
    const text = await give();
    if (text.length === at) return "";
    const more = text.slice(at);
    at = text.length;
    return more;
  };
}

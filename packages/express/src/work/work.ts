import type { Logger } from "@svc/context";
import type { BackgroundPart, SchemaPart } from "@svc/plugin";
import { createPreparation } from "./preparation.ts";

/** The background work of a service. */
export interface Work {
  /**
   * Creates the tables; when the database does not answer in time, retries in the background.
   *
   * @throws ConfigurationError for an existing table with another structure
   */
  prepare(): Promise<void>;
  /** Starts all parts as soon as the tables exist. */
  start(): void;
  /**
   * Accepts no new work. Resolves when running work is finished or released; never rejects.
   *
   * @param afterMs time limit in milliseconds, after which running work is released
   */
  stop(afterMs: number): Promise<void>;
  /** Releases running work at once. Resolves when it is released. */
  hurry(): Promise<void>;
}

/** How long to wait for the release, in milliseconds; at most a fifth of the time limit. */
const longestGraceMs = 2000;

/**
 * @param parts in the order of their stop
 * @param settingOf returns the setting of a key of the file, for the names of tables
 */
export function createWork(
  parts: readonly BackgroundPart[],
  schemas: readonly SchemaPart[],
  settingOf: (key: string) => unknown,
  logger: Logger,
): Work {
  const preparation = createPreparation(schemas, settingOf, logger);
  let begun: readonly BackgroundPart[] = [];
  let stopped: Promise<void> | undefined;

  async function run(): Promise<void> {
    await preparation.done;
    if (stopped !== undefined) return;
    begun = parts;
    // Parts that create work for the others start last.
    for (const part of parts.toReversed()) part.start();
  }

  async function stopPart(part: BackgroundPart): Promise<void> {
    try {
      await part.stop();
    } catch (err) {
      logger.error({ err, part: part.name }, "did not stop in order");
    }
  }

  async function stopAll(): Promise<void> {
    preparation.stop();
    await Promise.all(begun.map(stopPart));
  }

  function hurry(): Promise<void> {
    stopped ??= stopAll();
    for (const part of begun) part.hurry?.();
    return stopped;
  }

  return {
    prepare: () => preparation.first(),
    start: () => void run(),
    async stop(afterMs) {
      stopped ??= stopAll();
      if (await endsWithin(stopped, afterMs)) return;
      // A relay with a bus that hangs cannot release its events; their leases expire.
      if (!(await endsWithin(hurry(), Math.min(afterMs / 5, longestGraceMs)))) {
        logger.warn({ timeout_ms: afterMs }, "background work did not stop in time");
      }
    },
    hurry,
  };
}

/** Whether a promise resolves within `ms` milliseconds. */
async function endsWithin(something: Promise<void>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const time = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  const ended = await Promise.race([something.then(() => true), time]);
  clearTimeout(timer);
  return ended;
}

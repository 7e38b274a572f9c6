import type { Logger } from "@svc/context";
import type { BackgroundPart, SchemaPart } from "./parts.ts";
import { createPreparation } from "./preparation.ts";

/** What runs beside the server. */
export interface Work {
  /**
   * Makes the tables, once; a database that does not answer in time is tried again beside the server.
   *
   * @throws ConfigurationError for a table that is another one
   */
  prepare(): Promise<void>;
  /** Starts every part as soon as its tables are there. */
  start(): void;
  /**
   * Takes on nothing new from the first moment on. Resolves when what runs is finished or given back; never rejects.
   *
   * @param afterMs when to wait no longer
   */
  stop(afterMs: number): Promise<void>;
  /** Gives back what runs, at once. Resolves when that is done. */
  hurry(): Promise<void>;
}

/** How long what was told to hurry is waited for, in milliseconds; at most a fifth of the time before. */
const longestGraceMs = 2000;

/** @param parts in the order in which they are stopped */
export function createWork(
  parts: readonly BackgroundPart[],
  schemas: readonly SchemaPart[],
  logger: Logger,
): Work {
  const preparation = createPreparation(schemas, logger);
  let begun: readonly BackgroundPart[] = [];
  let stopped: Promise<void> | undefined;

  async function run(): Promise<void> {
    await preparation.done;
    if (stopped !== undefined) return;
    begun = parts;
    // What feeds the others comes last.
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
      // A relay whose bus hangs gives nothing back: its leases end by themselves.
      if (!(await endsWithin(hurry(), Math.min(afterMs / 5, longestGraceMs)))) {
        logger.warn({ timeout_ms: afterMs }, "what runs beside the server did not stop in time");
      }
    },
    hurry,
  };
}

/** Whether something has ended after so many milliseconds. */
async function endsWithin(something: Promise<void>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const time = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  const ended = await Promise.race([something.then(() => true), time]);
  clearTimeout(timer);
  return ended;
}

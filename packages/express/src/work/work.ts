import type { Logger } from "@svc/context";
import type { BackgroundPart, SchemaPart } from "@svc/plugin";
import { endsWithin } from "@svc/resilience";
import { createPreparation } from "./preparation.ts";

/** Maximum wait for the release of running work, in milliseconds; never more than a fifth of the time limit. */
const longestGraceMs = 2000;

export type Work = ReturnType<typeof createWork>;

/**
 * Creates a service's background work.
 *
 * @param parts in stop order
 * @param settingOf returns the setting for a configuration key; used for the names of tables
 */
export function createWork(
  parts: readonly BackgroundPart[],
  schemas: readonly SchemaPart[],
  settingOf: (key: string) => unknown,
  logger: Logger,
) {
  const preparation = createPreparation(schemas, settingOf, logger);
  let begun: readonly BackgroundPart[] = [];
  let stopped: Promise<void> | undefined;

  async function run(): Promise<void> {
    await preparation.done;
    if (stopped !== undefined) return;
    begun = parts;
    // Parts that create work for other parts start last.
    for (const part of parts.toReversed()) part.start();
  }

  async function stopPart(part: BackgroundPart): Promise<void> {
    try {
      await part.stop();
    } catch (err) {
      logger.error({ err, part: part.name }, "a background component failed to stop");
    }
  }

  async function stopAll(): Promise<void> {
    preparation.stop();
    await Promise.all(begun.map(stopPart));
  }

  /** Releases running work immediately. Resolves when the work is released. */
  function hurry(): Promise<void> {
    stopped ??= stopAll();
    for (const part of begun) part.hurry?.();
    return stopped;
  }

  return {
    /**
     * Creates the tables. If the database does not respond in time, retries in the background.
     *
     * @throws ConfigurationError for an existing table with a different structure
     */
    prepare: () => preparation.first(),
    /** Starts all parts as soon as the tables exist. */
    start: () => void run(),
    /**
     * Accepts no new work. Resolves when running work is finished or released; never rejects.
     *
     * @param afterMs time limit in milliseconds, after which running work is released
     */
    async stop(afterMs: number): Promise<void> {
      stopped ??= stopAll();
      if (await endsWithin(afterMs, stopped)) return;
      // A relay cannot release its events while its bus hangs; their leases expire.
      if (!(await endsWithin(Math.min(afterMs / 5, longestGraceMs), hurry()))) {
        logger.warn({ timeout_ms: afterMs }, "background work did not stop in time");
      }
    },
    hurry,
  };
}

import type { Logger } from "@svc/context";
import type { Inbox } from "@svc/events";
import type { BackgroundPart } from "@svc/plugin";
import type { JobDatabase } from "./job-code.ts";

const everyMs = 3_600_000;

/** Deletes old entries of processed messages once an hour, because those messages are no longer delivered. */
export function forgetting(
  inbox: Inbox,
  db: JobDatabase,
  olderThanDays: number,
  logger: Logger,
): BackgroundPart {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();

  async function prune(): Promise<void> {
    try {
      await inbox.prune(db, { olderThanDays });
    } catch (err) {
      logger.warn({ err, table: inbox.name }, "the inbox could not be pruned; trying again in an hour");
    }
  }

  function look(): void {
    running = prune();
  }

  return {
    name: "inbox",
    start() {
      look();
      timer = setInterval(look, everyMs).unref();
    },
    stop() {
      clearInterval(timer);
      return running;
    },
  };
}

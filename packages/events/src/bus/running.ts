import type { Logger } from "@svc/context";
import { atMostEvery, safeLogger } from "@svc/resilience";
import type { Consumption } from "../event-bus.ts";
import type { EventBusError } from "./event-bus-error.ts";
import type { Hand, Held } from "./hand.ts";

/** A consumption with the state that the readiness check reports. */
export interface RunningConsumption extends Consumption {
  readonly group: string;
  readonly inHand: number;
  /** Why it cannot read at the moment; undefined while it can. */
  readonly trouble: string | undefined;
}

/** Logs the events of one consumption and keeps whether it can read. */
export interface Journal {
  readonly trouble: string | undefined;
  /** Reading failed; logged at most every 10 s. */
  failed(why: EventBusError): void;
  /** Reading succeeded. */
  works(): void;
  /** A handler rejected a message. */
  rejected(held: Held, error: unknown, pauseMs: number): void;
  /** An entry of the stream is not a message that a bus published. */
  unreadable(where: object): void;
  /** Handlers were still running at the deadline of `stop()`. */
  abandoned(running: number): void;
}

const AGAIN_EVERY_MS = 10_000;

export function createJournal(given: Logger | undefined, broker: string, group: string): Journal {
  const logger = safeLogger(given);
  let trouble: string | undefined;
  const warn = atMostEvery(AGAIN_EVERY_MS, (_suppressed, why: string) =>
    logger?.warn({ group, broker, why }, "cannot read from the event bus; trying on"),
  );
  return {
    get trouble() {
      return trouble;
    },
    failed(why) {
      trouble = why.message;
      warn(trouble);
    },
    works() {
      if (trouble === undefined) return;
      trouble = undefined;
      logger?.info({ group, broker }, "reading from the event bus again");
    },
    rejected({ message: { topic, id }, deliveries }, err, pauseMs) {
      const fields = { topic, group, event_id: id, deliveries: deliveries - 1, pause_ms: pauseMs, err };
      logger?.warn(fields, "a message was rejected and will be tried again");
    },
    unreadable(where) {
      logger?.error({ group, ...where }, "skipped an entry that is not a message of this event bus");
    },
    abandoned(running) {
      logger?.warn({ group, running }, "handlers still run; their messages are given back");
    },
  };
}

/** Builds the public consumption; calls `end` once, even if it is stopped several times. */
export function runningConsumption({
  group,
  hand,
  journal,
  end,
}: {
  readonly group: string;
  readonly hand: Pick<Hand<Held>, "size">;
  readonly journal: Pick<Journal, "trouble">;
  readonly end: () => Promise<void>;
}): RunningConsumption {
  const ended = Promise.withResolvers<void>();
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopping ??= end().then(() => ended.resolve()));
  return {
    group,
    get inHand() {
      return hand.size;
    },
    get trouble() {
      return journal.trouble;
    },
    stop,
    stopped: ended.promise,
    [Symbol.asyncDispose]: stop,
  };
}

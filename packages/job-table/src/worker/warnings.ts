import type { Logger } from "@svc/context";
import { atMostEvery } from "@svc/resilience";
import { safeErrorText } from "@svc/sql";
import { tasksIn } from "./greeting.ts";

/** The warnings of a worker. */
export interface Warnings {
  readonly ofFault: (error: unknown) => void;
  /** The table answers again. */
  readonly noMore: (failures: number) => void;
  readonly ofPooler: () => void;
  /** Another worker announced different handlers. */
  readonly ofOthers: (greeting: string) => void;
  /** Every slot's handler ignores its signal. */
  readonly ofSignals: () => void;
  /** So many outcomes were still unwritten at the end. */
  readonly ofUnrecorded: (jobs: number) => void;
}

const FAULT_EVERY_MS = 10_000;
const HOUR_MS = 3_600_000;

/** @param greeting this worker's announcement of its tasks */
export function createWarnings(logger: Logger | undefined, table: string, greeting: string): Warnings {
  return {
    ofFault: atMostEvery(FAULT_EVERY_MS, (suppressed, error: unknown) =>
      logger?.error({ table, reason: safeErrorText(error), suppressed }, "the job table does not answer"),
    ),
    noMore: (failures) => logger?.info({ table, failures }, "the job table answers again"),
    ofPooler: atMostEvery(HOUR_MS, () =>
      logger?.warn(
        { table },
        "the connection of the worker goes through a pooler: unless that one pools sessions, listen must be false",
      ),
    ),
    ofOthers: atMostEvery(HOUR_MS, (_suppressed, theirs: string) =>
      logger?.warn(
        { table, handlers: tasksIn(greeting), others: tasksIn(theirs) },
        "another worker of this table has other handlers: each claims every job, and makes those dead that it has none for",
      ),
    ),
    ofSignals: () =>
      logger?.error({ table }, "handlers ignore their signals: no job is claimed until one of them ends"),
    ofUnrecorded: (jobs) =>
      logger?.error({ table, jobs }, "the end of jobs could not be recorded; their leases will end"),
  };
}

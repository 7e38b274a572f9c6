import type { Logger } from "@svc/context";
import { defineOptions, kinds as k, type OptionsOf } from "@svc/options";
import { createEmitter, endsWithin, safeLogger, singleFlight } from "@svc/resilience";
import { safeErrorText } from "@svc/sql";
import { SearchError } from "../errors.ts";
import type { SearchStore } from "../store.ts";
import type { SearchEvent } from "./events.ts";

const maintenanceOptions = defineOptions("createMaintenance()", {
  /** Returns the store; called for every run. While it returns undefined, runs do nothing. Required. */
  store: { kind: k.func<() => SearchStore | undefined>() },
  /** Seconds between two runs of `maintainIndexes()` after `start()`, at most a week; 0 for none. Default: 300. */
  maintainEverySeconds: { kind: k.withDefault(k.integer({ min: 0, max: 604_800 }), 300) },
  /** Seconds between two measurements of the recall, each of another tenant of the largest ten; 0 for none. Default: 0. */
  recallEverySeconds: { kind: k.withDefault(k.integer({ min: 0, max: 604_800 }), 0) },
  /** Recall below which a note is reported, 0 to 1. Default: 0.95. */
  recallAtLeast: { kind: k.withDefault(k.number({ min: 0, max: 1 }), 0.95) },
  /** Width of the index scan whose recall is measured, 1 to 1,000. Default: 100. */
  efSearch: { kind: k.withDefault(k.integer({ min: 1, max: 1000 }), 100) },
  /** Logs failures, and a recall below `recallAtLeast`. Default: none. */
  logger: { kind: k.optional(k.objectWith<Logger>("a logger", "debug", "info", "warn", "error")) },
  /** Receives each measured recall, for metrics. Default: none. */
  onEvent: { kind: k.optional(k.func<(event: SearchEvent) => void>()) },
  /** Clock in milliseconds since the Unix epoch, which chooses the tenant. Default: `Date.now`. */
  now: { kind: k.withDefault(k.func<() => number>(), Date.now) },
});

/** Options of {@link createMaintenance}. */
export type MaintenanceOptions = OptionsOf<typeof maintenanceOptions>;

/** Maintains the approximate indexes of a store, and measures their recall. */
export interface Maintenance {
  /**
   * Runs `maintainIndexes()`, unless it already runs in this process. Resolves when it ends, or after ten seconds while a
   * long build continues, so that a job ends in time. Failures are logged and noted.
   */
  maintain(): Promise<void>;
  /** Measures the recall of one of the ten largest tenants, in the same way. */
  measure(): Promise<void>;
  /**
   * Notes for `/ready` about the last run and the last measurement in this process; none while both succeed. A note ends
   * after three intervals, because the next runs may have been in other processes.
   */
  notes(): readonly string[];
  /** Starts the timers of both tasks, for a process without a job queue. */
  start(): void;
  /** Starts no more runs. Resolves when the running work ends, or after `hurry()`. */
  stop(): Promise<void>;
  hurry(): void;
}

const WAIT_MS = 10_000;
const LARGEST = 10;
/** Number of intervals for which a note is shown. */
const SHOWN_INTERVALS = 3;

/** @throws ConfigurationError */
export function createMaintenance(given: MaintenanceOptions): Maintenance {
  const options = maintenanceOptions.resolve(given);
  const { store, recallEverySeconds, recallAtLeast, efSearch, now } = options;
  const logger = safeLogger(options.logger);
  const { emit } = createEmitter(options.onEvent, () => undefined);
  const timers: NodeJS.Timeout[] = [];
  const hurried = Promise.withResolvers<void>();
  const { maintainEverySeconds } = options;
  const failures = createNotes(now);
  const recalls = createNotes(now);

  function task(what: string, everySeconds: number, work: (store: SearchStore) => Promise<void>) {
    return singleFlight(async () => {
      try {
        const opened = store();
        if (opened === undefined) return;
        await work(opened);
        failures.clear(what);
      } catch (error) {
        const reason = reasonOf(error);
        failures.set(what, reason, everySeconds);
        logger?.warn({ reason }, `${what} of the search failed`);
      }
    });
  }

  const maintain = task("index maintenance", maintainEverySeconds, async (opened) => {
    await opened.maintainIndexes();
  });
  const measure = task("recall measurement", recallEverySeconds, async (opened) => {
    const tenants = await opened.largestTenants(LARGEST);
    const turn = Math.floor(now() / (1000 * Math.max(1, recallEverySeconds)));
    const chosen = tenants[turn % Math.max(1, tenants.length)];
    if (chosen === undefined) return;
    const { recall, queries } = await opened.recall(chosen.tenant, { efSearch });
    if (queries === 0) return;
    emit({ type: "measured", recall });
    if (recall >= recallAtLeast) return recalls.clear("recall");
    recalls.set("recall", `recall ${recall.toFixed(3)} is below ${recallAtLeast}`, recallEverySeconds);
    const fields = { tenant_id: chosen.tenant, recall, at_least: recallAtLeast, ef_search: efSearch };
    logger?.warn(fields, "the recall of a tenant's search is too low");
  });

  const briefly = (run: () => Promise<void>) => async (): Promise<void> => {
    await endsWithin(WAIT_MS, run());
  };

  function every(seconds: number, run: () => Promise<void>): void {
    if (seconds > 0) timers.push(setInterval(() => void run(), seconds * 1000).unref());
  }

  return {
    maintain: briefly(maintain),
    measure: briefly(measure),
    notes: () => [
      // `/ready` truncates a detail to 200 characters, so name each reason only once.
      ...Array.from(
        Map.groupBy(failures.current(), ({ text }) => text),
        ([reason, each]) => `${each.map(({ what }) => what).join(" and ")} failed: ${reason}`,
      ),
      ...recalls.current().map(({ text }) => text),
    ],
    start() {
      every(maintainEverySeconds, maintain);
      every(recallEverySeconds, measure);
    },
    async stop() {
      for (const timer of timers.splice(0)) clearInterval(timer);
      const running = [maintain, measure].filter(({ pending }) => pending).map((run) => run());
      await Promise.race([Promise.all(running), hurried.promise]);
    },
    hurry: () => hurried.resolve(),
  };
}

/** Notes that expire. */
function createNotes(now: () => number) {
  const notes = new Map<string, { readonly text: string; readonly untilMs: number }>();
  return {
    /** @param everySeconds interval at which the note is renewed; 0 if the note never expires */
    set(what: string, text: string, everySeconds: number): void {
      const untilMs = everySeconds === 0 ? Infinity : now() + SHOWN_INTERVALS * everySeconds * 1000;
      notes.set(what, { text, untilMs });
    },
    clear: (what: string): void => void notes.delete(what),
    current: () =>
      [...notes].flatMap(([what, { text, untilMs }]) => (now() < untilMs ? [{ what, text }] : [])),
  };
}

function reasonOf(error: unknown): string {
  if (!(error instanceof SearchError)) return safeErrorText(error);
  if (!(error.cause instanceof AggregateError)) return error.message;
  const [first] = error.cause.errors as readonly unknown[];
  return `${error.message} (${safeErrorText(first)})`;
}

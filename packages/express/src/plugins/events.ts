import type { Events, Inbox, Outbox, SubscribersOf } from "@svc/events";
import type { JobTable } from "@svc/job-table";
import { ConfigurationError, type Fault } from "@svc/options";
import type { SchemaPart } from "../work/parts.ts";
import type { Table } from "@svc/config";
import {
  type EventsSettings,
  eventsTable,
  groupOf,
  sourceOf,
  unusedKeys,
  writesOutbox,
} from "./events-table.ts";
import { eventBus } from "./event-bus.ts";
import { eventWork } from "./event-work.ts";
import { namedAsConfigured } from "./named-as-configured.ts";
import type { PluginContext, PluginParts } from "./plugin.ts";
import type { JobDatabase } from "./queue.ts";

/** The parts of a service that events need. */
export interface EventsSurroundings {
  readonly jobs: JobTable | undefined;
  readonly db: JobDatabase | undefined;
  readonly subscribers: SubscribersOf<Record<string, object>>;
  /** Whether this process runs background work. */
  readonly works: boolean;
}

type EventsParts = PluginParts & { readonly events: Events | undefined; readonly inbox: Inbox | undefined };

/** Creates the publisher of events and its parts: relay, bus, subscribers. */
export async function eventsPlugin(
  settings: EventsSettings,
  context: PluginContext,
  { jobs, db, subscribers, works }: EventsSurroundings,
): Promise<EventsParts> {
  const { logger, noted, profile, service } = context;
  const types = Object.keys(subscribers);
  const writes = writesOutbox(settings);
  await noted(() => refuseLacks({ subscribers: types, jobs, writes, db }));
  for (const key of unusedKeys(settings)) {
    logger.warn({}, `[plugin.events] ${key} is not used: bus is "${settings.bus}"`);
  }
  const { createEvents, createInbox, createOutbox } = await import("@svc/events");
  const named = <T>(
    maker: string,
    options: Readonly<Record<string, keyof EventsSettings>>,
    make: () => T,
  ): Promise<T | undefined> =>
    noted(() => namedAsConfigured({ plugin: "events", table: tableOf(options), profile, maker }, make));

  const outbox =
    writes && db !== undefined
      ? await named("createOutbox()", { name: "outboxTable" }, () =>
          createOutbox({ db, name: settings.outboxTable }),
        )
      : undefined;
  const inbox =
    db === undefined
      ? undefined
      : await named("createInbox()", { name: "inboxTable" }, () =>
          createInbox({ name: settings.inboxTable }),
        );
  const bus = await noted(() => eventBus(settings, context));
  const { topicPrefix, maxEventBytes } = settings;
  const source = await noted(() => sourceOf(service));
  const events =
    source === undefined
      ? undefined
      : await named("createEvents()", {}, () =>
          createEvents({
            source,
            table: jobs,
            subscribers: jobs === undefined ? {} : subscribers,
            outbox,
            bus,
            topicPrefix,
            maxEventBytes,
            logger,
          }),
        );
  const consumes = works && bus !== undefined && (events?.topics.length ?? 0) > 0;
  const group = consumes ? await noted(() => groupOf(settings, service)) : undefined;
  const work = works ? await eventWork(settings, logger, { events, outbox, inbox, db, bus, group }) : [];
  // With an outbox, a process that only serves does not use the bus.
  const usesBus = works || outbox === undefined;
  return {
    events,
    inbox,
    work,
    schemas: tablesOf(outbox, inbox, db),
    checks: [outbox?.readiness(), usesBus ? bus?.readiness() : undefined].filter(
      (each) => each !== undefined,
    ),
    onStop: bus && ["close", () => bus.close()],
    info: {
      bus: settings.bus,
      outbox: writes,
      subscribers: types,
      ...(group === undefined ? {} : { consumer_group: group }),
    },
  };
}

/** Returns the tables; that of the relay comes first, because subscribers depend on it. */
function tablesOf(
  outbox: Outbox | undefined,
  inbox: Inbox | undefined,
  db: JobDatabase | undefined,
): readonly SchemaPart[] {
  const tables: SchemaPart[] = [];
  if (outbox !== undefined) {
    tables.push({ key: "plugin.events.outbox_table", ensureSchema: () => outbox.ensureSchema() });
  }
  if (inbox !== undefined && db !== undefined) {
    tables.push({ key: "plugin.events.inbox_table", ensureSchema: () => inbox.ensureSchema(db) });
  }
  return tables;
}

/** Returns the keys of the file, some of them under the names of options. */
function tableOf(renamed: Readonly<Record<string, keyof EventsSettings>>): Table<Record<string, unknown>> {
  const options = Object.entries(renamed).map(([option, setting]) => [option, eventsTable.keys[setting]]);
  return { keys: { ...eventsTable.keys, ...Object.fromEntries(options) } };
}

function refuseLacks(given: {
  readonly subscribers: readonly string[];
  readonly jobs: JobTable | undefined;
  readonly writes: boolean;
  readonly db: JobDatabase | undefined;
}): void {
  const faults: Fault[] = [];
  if (given.subscribers.length > 0 && given.jobs === undefined) {
    faults.push({
      key: "subscribers",
      message: "are jobs: enable the plugin queue, or take subscribers away",
    });
  }
  if (given.writes && given.db === undefined) {
    const message =
      "is a table: enable the plugin database, give createService() a db of your own, or set it to false";
    faults.push({ key: "plugin.events.outbox", message });
  }
  if (faults.length > 0) throw new ConfigurationError("the service", faults);
}

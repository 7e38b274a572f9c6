import type { Events, Inbox, Outbox } from "@svc/events";
import type { JobTable } from "@svc/job-table";
import { ConfigurationError, type Fault } from "@svc/options";
import { definePlugin, type PluginContext, type PluginParts, type SchemaPart } from "@svc/plugin";
import type { JobCode, JobDatabase } from "./job-code.ts";
import {
  type EventsSettings,
  eventsOptions,
  groupOf,
  sourceOf,
  unusedKeys,
  writesOutbox,
} from "./events-table.ts";
import { eventBus } from "./event-bus.ts";
import { eventWork } from "./event-work.ts";
import { type ConfiguredBy, namedAsConfigured } from "./named-as-configured.ts";

/** `[plugin.events]`: the publisher as `service.events`, the relay, the bus and the subscribers. */
export const eventsPlugin = definePlugin({
  name: "events",
  uses: ["database", "queue"],
  options: eventsOptions,
  start: startEvents,
});

/** The members of a service that the plugin adds. */
export interface EventsMembers {
  readonly events: Events | undefined;
  readonly inbox: Inbox | undefined;
}

async function startEvents(context: PluginContext<EventsSettings>): Promise<PluginParts<EventsMembers>> {
  const { options: settings, logger, attempt, part, code, isEnabled } = context;
  const { profile, name: service, role } = context.service;
  const jobCode = code<JobCode>("work");
  const db = jobCode?.db ?? part<JobDatabase>("db");
  const jobs = part<JobTable>("jobs");
  const works = role !== "server";
  // When the queue was refused, leave out its subscribers, which would be refused a second time.
  const subscribers = jobs === undefined && isEnabled("queue") ? {} : (jobCode?.subscribers ?? {});
  const types = Object.keys(subscribers);
  const writes = writesOutbox(settings);
  await attempt(() => refuseLacks({ subscribers: types, jobs, writes, db }));
  for (const key of unusedKeys(settings)) {
    logger.warn({}, `[plugin.events] ${key} is not used: bus is "${settings.bus}"`);
  }
  const { createEvents, createInbox, createOutbox } = await import("@svc/events");
  const named = <T>(
    maker: string,
    options: Readonly<Record<string, keyof EventsSettings>>,
    make: () => T,
  ): Promise<T | undefined> =>
    attempt(() => namedAsConfigured({ plugin: "events", table: tableOf(options), profile, maker }, make));

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
  const bus = await attempt(() => eventBus(context));
  const { topicPrefix, maxEventBytes } = settings;
  const source = await attempt(() => sourceOf(service));
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
  const group = consumes ? await attempt(() => groupOf(settings, service)) : undefined;
  const work = works ? await eventWork(settings, logger, { events, outbox, inbox, db, bus, group }) : [];
  // With an outbox, a process that only serves does not use the bus.
  const usesBus = works || outbox === undefined;
  return {
    parts: { events, inbox },
    handlers: events?.handlers,
    work,
    schemas: tablesOf(outbox, inbox, db),
    checks: [outbox?.readiness(), usesBus ? bus?.readiness() : undefined].filter(
      (each) => each !== undefined,
    ),
    stop: bus && ["close", () => bus.close()],
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
function tableOf(renamed: Readonly<Record<string, keyof EventsSettings>>): ConfiguredBy["table"] {
  const options = Object.entries(renamed).map(([option, setting]) => [option, eventsOptions.keys[setting]]);
  return { keys: { ...eventsOptions.keys, ...Object.fromEntries(options) } };
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

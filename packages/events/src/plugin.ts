import type { JobTable } from "@svc/job-table";
import { ConfigurationError, type Fault } from "@svc/options";
import { definePlugin, type PluginContext, type PluginParts, type SchemaPart, spanPart } from "@svc/plugin";
import type { Database } from "@svc/sql";
import type { Events } from "./events.ts";
import type { Inbox } from "./inbox.ts";
import type { Outbox } from "./outbox/outbox.ts";
import {
  type EventsSettings,
  groupOf,
  pluginOptions,
  settingsAs,
  sourceOf,
  unusedKeys,
  writesOutbox,
} from "./plugin-options.ts";
import type { Subscriber } from "./subscribers.ts";

export { type EventsSettings, writesOutbox } from "./plugin-options.ts";

/** `[plugin.events]`: the publisher as `service.events`, the relay, the bus and the subscribers. */
export const eventsPlugin = definePlugin({
  name: "events",
  uses: ["database", "queue", "telemetry"],
  options: pluginOptions,
  start: startEvents,
});

/** The members that the plugin adds to a service. */
export interface EventsMembers {
  readonly events: Events | undefined;
  readonly inbox: Inbox | undefined;
}

/** The members of the `work` option of `createService()` that the plugin reads. */
interface EventsCode {
  readonly db: Database | undefined;
  readonly subscribers: Readonly<Record<string, Readonly<Record<string, Subscriber>>>>;
}

async function startEvents(context: PluginContext<EventsSettings>): Promise<PluginParts<EventsMembers>> {
  const { options: settings, logger, attempt, part, code, isEnabled } = context;
  const { name: service, role } = context.service;
  const given = code<EventsCode>("work");
  const db = given?.db ?? part<Database>("db");
  const table = part<JobTable>("jobs");
  const works = role !== "server";
  // If the enabled queue could not be created, omit the subscribers, so that the missing queue is not reported again.
  const subscribers = table === undefined && isEnabled("queue") ? {} : (given?.subscribers ?? {});
  const types = Object.keys(subscribers);
  const writes = writesOutbox(settings);
  await attempt(() => refuseLacks({ subscribers: types, table, writes, db }));
  for (const key of unusedKeys(settings)) {
    logger.warn({}, `[plugin.events] ${key} is not used: bus is "${settings.bus}"`);
  }
  const { createEvents, createInbox, createOutbox } = await import("./index.ts");
  const { eventBus, eventWork } = await import("./plugin-parts.ts");

  const outbox =
    writes && db !== undefined
      ? await attempt(() => createOutbox({ ...settingsAs(settings, { name: "outboxTable" }), db }))
      : undefined;
  const inbox =
    db === undefined
      ? undefined
      : await attempt(() => createInbox(settingsAs(settings, { name: "inboxTable" })));
  const bus = await attempt(() => eventBus(settings, logger));
  const events = await attempt(() =>
    createEvents({
      ...settingsAs(settings, { topicPrefix: "topicPrefix", maxEventBytes: "maxEventBytes" }),
      source: sourceOf(service),
      table,
      subscribers: table === undefined ? {} : subscribers,
      outbox,
      bus,
      logger,
      span: spanPart(context),
    }),
  );
  const consumes = works && bus !== undefined && (events?.topics.length ?? 0) > 0;
  const group = consumes ? await attempt(() => groupOf(settings, service)) : undefined;
  // With an outbox, a process that runs no worker does not use the bus.
  const usesBus = works || outbox === undefined;
  return {
    parts: { events, inbox },
    handlers: events?.handlers,
    work: works ? eventWork(settings, logger, { events, outbox, inbox, db, bus, group }) : [],
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

/** Returns the tables. The outbox comes first, because subscribers depend on the events that its relay sends. */
function tablesOf(
  outbox: Outbox | undefined,
  inbox: Inbox | undefined,
  db: Database | undefined,
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

function refuseLacks(given: {
  readonly subscribers: readonly string[];
  readonly table: JobTable | undefined;
  readonly writes: boolean;
  readonly db: Database | undefined;
}): void {
  const faults: Fault[] = [];
  if (given.subscribers.length > 0 && given.table === undefined) {
    faults.push({
      key: "subscribers",
      message: "run as jobs: enable the plugin queue, or remove subscribers",
    });
  }
  if (given.writes && given.db === undefined) {
    const message =
      "requires a database: enable the plugin database, pass your own db to createService(), or set it to false";
    faults.push({ key: "plugin.events.outbox", message });
  }
  if (faults.length > 0) throw new ConfigurationError("the service", faults);
}

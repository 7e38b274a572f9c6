import type { SpanHook } from "@svc/context";
import { takeOptions } from "@svc/options";
import type { BackgroundPart, JobSchedules, PluginContext, PluginParts } from "@svc/plugin";
import type { Database } from "@svc/sql";
import type { Embed } from "./embed.ts";
import type { RagSettings } from "./plugin-options.ts";
import { bindSearch, type BoundSearch, INGEST_TASK, type IngestQueue } from "./service/bound-search.ts";
import { checkedEmbed } from "./service/embedder-guard.ts";
import type { SearchEvent } from "./service/events.ts";
import { ingestHandler } from "./service/ingest-handler.ts";
import { createLazyStore } from "./service/lazy-store.ts";
import { createMaintenance, type Maintenance } from "./service/maintenance.ts";
import { searchCheck } from "./service/search-check.ts";
import { createSearchStore, type SearchStore } from "./store.ts";
import { tableOptions } from "./table-options.ts";

/** Functions of packages that this package must not depend on. A service provides them as the part `ragTools`. */
export interface RagTools {
  /** Returns a function that counts searches and ingests; undefined in a service without metrics. */
  searchMetrics(): Promise<((event: SearchEvent) => void) | undefined>;
}

/** The members that the plugin adds to a service. */
export interface RagMembers {
  readonly search: BoundSearch | undefined;
}

/** What the plugin takes from other plugins and from code. */
export interface RagSurroundings {
  readonly db: Database | undefined;
  readonly embed: Embed;
  readonly queue: IngestQueue | undefined;
  readonly span: SpanHook | undefined;
  readonly rowSecurity: boolean;
}

const MAINTAIN_TASK = "rag:maintain";
const RECALL_TASK = "rag:recall";
/** Stands for the embedded database, which is opened at the first use. */
const NOT_YET: Database = { query: () => Promise.reject(new Error("the embedded database is not open")) };

export async function ragParts(
  context: PluginContext<RagSettings>,
  { db, embed, queue, span, rowSecurity }: RagSurroundings,
): Promise<PluginParts<RagMembers>> {
  const { options, logger, attempt, part } = context;
  const { dimensions, precision, table, embedder, maintenanceDb, critical } = options;
  const { maintainEverySeconds, recallEverySeconds } = options;
  const forStore = takeOptions(
    options,
    ...(Object.keys(tableOptions.keys) as (keyof typeof tableOptions.keys)[]),
    "embedder",
  );
  const guarded = checkedEmbed(embed, { dimensions, precision });

  function create(on: Database): SearchStore {
    return createSearchStore({ ...forStore, db: on, embed: guarded, rowSecurity, logger, span });
  }

  // Refuse invalid options now: the store itself is created when its database answers.
  const isValid = await attempt(() => create(db ?? NOT_YET));
  const lazy = createLazyStore({
    create,
    db,
    embeddedFolder: options.embeddedFolder === "" ? undefined : options.embeddedFolder,
    logger,
  });
  const onEvent = await part<RagTools>("ragTools")?.searchMetrics();
  const search = await attempt(() =>
    bindSearch({
      ...takeOptions(options, "efSearch", "chunkSize", "chunkOverlap", "inlineChunks", "tenant"),
      store: () => lazy.store(),
      queue,
      onEvent,
    }),
  );
  if (isValid === undefined || search === undefined) return {};
  const own = maintenanceDb === undefined ? undefined : create(maintenanceDb);
  const maintenance = createMaintenance({
    ...takeOptions(options, "maintainEverySeconds", "recallEverySeconds", "recallAtLeast", "efSearch"),
    store: () => (own === undefined ? lazy.opened() : lazy.opened() && own),
    logger,
    onEvent,
  });
  return {
    parts: { search },
    checks: [searchCheck(lazy, maintenance, critical)],
    schemas: db === undefined ? [] : [{ key: "plugin.rag.table", ensureSchema: () => lazy.prepare() }],
    info: { table, dimensions, ...(embedder === undefined ? {} : { embedder }) },
    stop: ["close", () => lazy.close()],
    work: [backgroundOf(maintenance, queue === undefined)],
    ...(queue !== undefined && {
      handlers: {
        [INGEST_TASK]: ingestHandler(search),
        [MAINTAIN_TASK]: () => maintenance.maintain(),
        [RECALL_TASK]: () => maintenance.measure(),
      },
      schedules: {
        ...scheduled(MAINTAIN_TASK, maintainEverySeconds),
        ...scheduled(RECALL_TASK, recallEverySeconds),
      },
    }),
  };
}

/** @param hasTimers whether the process maintains the indexes without a queue; otherwise jobs do, and only the stop waits */
function backgroundOf(maintenance: Maintenance, hasTimers: boolean): BackgroundPart {
  return {
    name: "rag",
    start: () => (hasTimers ? maintenance.start() : undefined),
    stop: () => maintenance.stop(),
    hurry: () => maintenance.hurry(),
  };
}

/** Returns the schedule of a task; none with 0 seconds. A missed run needs no repetition. */
function scheduled(task: string, everySeconds: number): JobSchedules {
  return everySeconds === 0 ? {} : { [task]: { task, everySeconds, catchUp: false } as JobSchedules[string] };
}

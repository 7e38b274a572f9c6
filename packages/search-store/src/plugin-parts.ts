import type { SpanHook } from "@svc/context";
import { ConfigurationError, takeOptions } from "@svc/options";
import type { BackgroundPart, JobSchedules, PluginContext, PluginParts } from "@svc/plugin";
import { bounded, COMMAND_TIMEOUT_MS, type Database, sqlStateOf } from "@svc/sql";
import { query } from "./access.ts";
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

/** The parts that the plugin receives from other plugins and from code. */
export interface RagSurroundings {
  readonly db: Database | undefined;
  readonly embed: Embed;
  readonly queue: IngestQueue | undefined;
  readonly span: SpanHook | undefined;
  readonly rowSecurity: boolean;
}

const MAINTAIN_TASK = "rag:maintain";
const RECALL_TASK = "rag:recall";
const UNDEFINED_OBJECT = "42704";
/** Placeholder for the embedded database, which is opened at the first use. */
const NOT_YET: Database = { query: () => Promise.reject(new Error("the embedded database is not open")) };

export async function ragParts(
  context: PluginContext<RagSettings>,
  { db, embed, queue, span, rowSecurity }: RagSurroundings,
): Promise<PluginParts<RagMembers>> {
  const { options, logger, attempt, part, nameOf } = context;
  const { dimensions, table, textConfig, embedder, maintenanceDb, critical } = options;
  const { maintainEverySeconds, recallEverySeconds } = options;
  const forStore = takeOptions(
    options,
    ...(Object.keys(tableOptions.keys) as (keyof typeof tableOptions.keys)[]),
    "embedder",
  );
  const guarded = checkedEmbed(embed, { dimensions });

  function create(on: Database): SearchStore {
    const store = createSearchStore({ ...forStore, db: on, embed: guarded, rowSecurity, logger, span });
    return { ...store, ensureSchema: () => ensureOn(on, store) };
  }

  /** Creates the table. If the database lacks the text search configuration, the error names the key of the option. */
  async function ensureOn(on: Database, store: SearchStore): Promise<"present" | "created"> {
    try {
      return await store.ensureSchema();
    } catch (error) {
      if (sqlStateOf(error) !== UNDEFINED_OBJECT || (await hasTextConfig(on, textConfig))) throw error;
      const message = `must be a text search configuration of the database, which has no ${textConfig}`;
      throw new ConfigurationError("the service", [{ key: nameOf("textConfig"), message }], { cause: error });
    }
  }

  // Reject invalid options now, because the store itself is created only when its database responds.
  const checked = await attempt(() => create(db ?? NOT_YET));
  const lazy = createLazyStore({
    create,
    db,
    embeddedFolder: options.embeddedFolder === "" ? undefined : options.embeddedFolder,
    logger,
  });
  const onEvent = await part<RagTools>("ragTools")?.searchMetrics();
  const search = await attempt(() =>
    bindSearch({
      ...takeOptions(
        options,
        "efSearch",
        "chunkSize",
        "chunkOverlap",
        "inlineChunks",
        "tenant",
        "filterKeys",
      ),
      store: () => lazy.store(),
      queue,
      onEvent,
    }),
  );
  if (checked === undefined || search === undefined) return {};
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

/** Returns whether a database has a text search configuration. */
async function hasTextConfig(db: Database, name: string): Promise<boolean> {
  try {
    const deadline = { operation: "ensureSchema()", timeoutMs: COMMAND_TIMEOUT_MS };
    await query(bounded(db, deadline), "select $1::regconfig", [name]);
    return true;
  } catch (error) {
    return sqlStateOf(error) !== UNDEFINED_OBJECT;
  }
}

/**
 * @param hasTimers whether timers of this process maintain the indexes; otherwise jobs do, and `stop()` only waits for them
 */
function backgroundOf(maintenance: Maintenance, hasTimers: boolean): BackgroundPart {
  return {
    name: "rag",
    start: () => (hasTimers ? maintenance.start() : undefined),
    stop: () => maintenance.stop(),
    hurry: () => maintenance.hurry(),
  };
}

/** Returns the schedule of a task; none for 0 seconds. It does not catch up on missed runs. */
function scheduled(task: string, everySeconds: number): JobSchedules {
  return everySeconds === 0 ? {} : { [task]: { task, everySeconds, catchUp: false } as JobSchedules[string] };
}

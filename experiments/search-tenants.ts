import { createSearchStore, SearchError, type SearchStore } from "@svc/search-store";
import { type Database, isPool, type Queryable, type Row } from "@svc/sql";
import { asBuilt, type Experiment, type Run } from "./harness/experiment.ts";
import {
  type Asked,
  createDraws,
  DIMENSIONS,
  documentsOf,
  type Draws,
  drawSearch,
  type Held,
  tenantNames,
} from "./harness/many-tenants.ts";
import type { Report } from "./harness/report.ts";
import { startVectorServer, type VectorServer } from "./harness/vector-server.ts";

const WORKERS = 4;

interface Stage {
  readonly name: string;
  readonly rowSecurity: boolean;
  /** Whether statements are sent without their tenant condition. */
  readonly brokenSql: boolean;
}

const plain: Stage = { name: "as built", rowSecurity: false, brokenSql: false };
const secured: Stage = { name: "row security", rowSecurity: true, brokenSql: false };
const securedBroken: Stage = { name: "row security, SQL broken", rowSecurity: true, brokenSql: true };

/**
 * Fills tables for tenants with the same document ids, the same words and some equal vectors, and searches for other
 * tenants' documents.
 */
export const searchTenants: Experiment = {
  name: "search-tenants",
  description:
    "random documents of many tenants, and searches with hostile filters: no search finds another tenant's documents",
  brokenVariants: ["broken-sql", "broken-no-force", "broken-bypassing-login"],
  async run(run, report) {
    const seed = run.seed ?? Math.floor(Math.random() * 2 ** 31);
    const draws = createDraws(seed);
    const bypassesRowSecurity = run.variant === "broken-bypassing-login";
    await using server = await startVectorServer({ bypassesRowSecurity });
    const held = documentsOf(tenantNames(run.quick ? 6 : 40), run.quick ? 100 : 1000, draws);
    report.note(`${server.name}; --seed ${seed}`);
    const tables = new Set<string>();
    for (const stage of stagesOf(run.variant)) {
      const table = stage.rowSecurity ? "secured_chunks" : "open_chunks";
      if (!tables.has(table)) await fill(server, { ...stage, brokenSql: false }, held);
      tables.add(table);
      if (run.variant === "broken-no-force")
        await server.query(`alter table ${table} no force row level security`);
      await search(server, stage, held, { draws, run, report });
    }
  },
};

/** Returns the stages of a run; a broken variant needs only one. */
function stagesOf(variant: string): readonly Stage[] {
  if (variant === asBuilt) return [plain, secured, securedBroken];
  return variant === "broken-sql" ? [{ ...plain, brokenSql: true }] : [securedBroken];
}

function storeOf(server: VectorServer, { rowSecurity, brokenSql }: Stage, seen: Seen): SearchStore {
  return createSearchStore({
    db: brokenSql ? withoutTenant(server.db, seen) : server.db,
    dimensions: DIMENSIONS,
    table: rowSecurity ? "secured_chunks" : "open_chunks",
    filterKeys: ["owner"],
    rowSecurity,
  });
}

/** Ingests the documents. Every second tenant gets an approximate index, so that searches use both kinds of plan. */
async function fill(server: VectorServer, stage: Stage, held: readonly Held[]): Promise<void> {
  const store = storeOf(server, stage, { broken: 0 });
  await store.ensureSchema();
  for (const [at, { tenant, chunks }] of held.entries()) {
    await store.ingestBulk(tenant, chunks);
    if (at % 2 === 0) await store.ensureTenantIndex(tenant);
  }
}

interface Seen {
  /** The number of statements sent without their tenant condition. */
  broken: number;
}

/** Replaces `tenant_id = $n` in every statement, as if its author had forgotten the tenant condition. */
function withoutTenant(db: Database, seen: Seen): Database {
  const broken = (on: Queryable): Queryable => ({
    query<R extends Row>(text: string, values?: unknown[]) {
      const without = text.replaceAll(/(?:\bc\.)?\btenant_id = (\$\d+)(?:::text)?/g, "$1::text is not null");
      if (without !== text) seen.broken++;
      return on.query<R>(without, values);
    },
  });
  if (!isPool(db)) return broken(db);
  return {
    async connect() {
      const connection = await db.connect();
      return { ...broken(connection), release: (error) => connection.release(error) };
    },
  };
}

interface Found {
  searches: number;
  listed: number;
  refused: number;
  failed: number;
  own: number;
  foreign: number;
  /** The number of unfiltered vector searches that returned fewer hits than requested. */
  short: number;
  readonly failures: Set<string>;
}

interface Scene {
  readonly draws: Draws;
  readonly run: Run;
  readonly report: Report;
}

async function search(
  server: VectorServer,
  stage: Stage,
  held: readonly Held[],
  { draws, run, report }: Scene,
): Promise<void> {
  const seen: Seen = { broken: 0 };
  const store = storeOf(server, stage, seen);
  const wanted = run.cases ?? (run.quick ? 300 : 10_000);
  const found: Found = {
    searches: 0,
    listed: 0,
    refused: 0,
    failed: 0,
    own: 0,
    foreign: 0,
    short: 0,
    failures: new Set(),
  };
  const work = async (): Promise<void> => {
    while (found.searches < wanted) {
      found.searches++;
      await one(store, drawSearch(held, draws), found);
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, work));

  report.figure(stage.name, "tenants", held.length, "count");
  report.figure(stage.name, "documents of each", held[0]?.chunks.length ?? 0, "count");
  report.figure(stage.name, "searches", found.searches, "count");
  report.figure(stage.name, "lists", found.listed, "count");
  report.figure(stage.name, "refused", found.refused, "count");
  report.figure(stage.name, "statements sent without the tenant condition", seen.broken, "count");
  report.figure(stage.name, "own hits", found.own, "count");
  report.figure(stage.name, "hits of another tenant", found.foreign, "count");
  report.rule(found.foreign === 0, `${stage.name}: no hit of another tenant`);
  report.rule(found.own > found.searches, `${stage.name}: searches find the tenant's own documents`);
  report.rule(
    found.short === 0,
    `${stage.name}: a search by meaning without a filter returns all requested hits`,
  );
  report.rule(
    found.failed === 0,
    `${stage.name}: a search fails only because of its filter (${[...found.failures].join(", ")})`,
  );
  report.rule(
    found.refused > 0 && found.refused < found.searches / 4,
    `${stage.name}: some filters are refused, and most are accepted`,
  );
  if (stage.brokenSql) report.rule(seen.broken >= found.searches / 2, "the tenant condition was removed");
}

async function one(
  store: SearchStore,
  { tenant, request, kind, filter }: Asked,
  found: Found,
): Promise<void> {
  try {
    const hits = await store.search(tenant, request);
    count(found, tenant, hits);
    if (kind === "vector" && filter === "none" && hits.length !== request.limit) found.short++;
    if (filter === "none") return;
    const { chunks } = await store.list(tenant, { filter: request.filter, limit: 50 });
    found.listed++;
    count(found, tenant, chunks);
  } catch (error) {
    if (error instanceof SearchError && error.code === "ERR_SVC_SEARCH_FILTER") found.refused++;
    else {
      found.failed++;
      found.failures.add(error instanceof Error ? error.message : "?");
    }
  }
}

function count(
  found: Found,
  tenant: string,
  hits: readonly { readonly meta: Readonly<Record<string, unknown>> }[],
): void {
  for (const { meta } of hits) {
    if (meta["owner"] === tenant) found.own++;
    else found.foreign++;
  }
}

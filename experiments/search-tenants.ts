import { SearchError } from "@svc/search-store";
import { type Database, isPool, type Queryable, type Row } from "@svc/sql";
import { asBuilt, type Experiment, type Run } from "./harness/experiment.ts";
import type { Report } from "./harness/report.ts";
import { startVectorServer } from "./harness/vector-server.ts";
import {
  type Asked,
  createDraws,
  documentsOf,
  type Draws,
  drawSearch,
  type Held,
  tenantNames,
} from "./search-tenants/documents.ts";
import { type Searcher, searchers } from "./search-tenants/searchers.ts";

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
  parts: Object.keys(searchers),
  async run(run, report) {
    const seed = run.seed ?? Math.floor(Math.random() * 2 ** 31);
    const bypassesRowSecurity = run.variant === "broken-bypassing-login";
    await using server = await startVectorServer({ bypassesRowSecurity });
    report.note(`${server.name}; --seed ${seed}`);
    for (const [part, open] of Object.entries(searchers)) {
      if (run.only !== undefined && run.only !== part) continue;
      const draws = createDraws(seed);
      const held = documentsOf(tenantNames(run.quick ? 6 : 40), run.quick ? 100 : 1000, draws);
      const filled = new Set<string>();
      for (const { name, rowSecurity, brokenSql } of stagesOf(run.variant)) {
        const table = `${part}_${rowSecurity ? "secured" : "open"}`;
        if (!filled.has(table)) {
          await using filler = await open(server.db, { table, rowSecurity });
          await filler.fill(held);
          filled.add(table);
        }
        const seen: Seen | undefined = brokenSql ? { broken: 0 } : undefined;
        const db = seen === undefined ? server.db : withoutTenant(server.db, seen);
        await using searcher = await open(db, { table, rowSecurity });
        if (run.variant === "broken-no-force")
          await server.query(`alter table ${table} no force row level security`);
        await search(searcher, held, { name: `${part}, ${name}`, seen, draws, run, report });
      }
    }
  },
};

/** Returns the stages of a run; a broken variant needs only one. */
function stagesOf(variant: string): readonly Stage[] {
  if (variant === asBuilt) return [plain, secured, securedBroken];
  return variant === "broken-sql" ? [{ ...plain, brokenSql: true }] : [securedBroken];
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
  /** The number of searches for another tenant than that of the context. */
  others: number;
  othersRefused: number;
  /** The number of unfiltered vector searches that returned fewer hits than requested. */
  short: number;
  readonly failures: Set<string>;
}

interface Scene {
  readonly name: string;
  /** Set if statements are sent without their tenant condition. */
  readonly seen: Seen | undefined;
  readonly draws: Draws;
  readonly run: Run;
  readonly report: Report;
}

async function search(
  searcher: Searcher,
  held: readonly Held[],
  { name, seen, draws, run, report }: Scene,
): Promise<void> {
  const wanted = run.cases ?? (run.quick ? 300 : 10_000);
  const found: Found = {
    searches: 0,
    listed: 0,
    refused: 0,
    failed: 0,
    own: 0,
    foreign: 0,
    others: 0,
    othersRefused: 0,
    short: 0,
    failures: new Set(),
  };
  const work = async (): Promise<void> => {
    while (found.searches < wanted) {
      found.searches++;
      const asked = drawSearch(held, draws);
      await one(searcher, asked, found);
      await searchOther(searcher, asked, found);
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, work));

  report.figure(name, "tenants", held.length, "count");
  report.figure(name, "documents of each", held[0]?.chunks.length ?? 0, "count");
  report.figure(name, "searches", found.searches, "count");
  report.figure(name, "lists", found.listed, "count");
  report.figure(name, "refused", found.refused, "count");
  report.figure(name, "statements sent without the tenant condition", seen?.broken ?? 0, "count");
  report.figure(name, "own hits", found.own, "count");
  report.figure(name, "hits of another tenant", found.foreign, "count");
  report.rule(found.foreign === 0, `${name}: no hit of another tenant`);
  report.rule(found.own > found.searches, `${name}: searches find the tenant's own documents`);
  report.rule(found.short === 0, `${name}: a search by meaning without a filter returns all requested hits`);
  report.rule(
    found.failed === 0,
    `${name}: a search fails only because of its filter (${[...found.failures].join(", ")})`,
  );
  report.rule(
    found.refused > 0 && found.refused < found.searches / 4,
    `${name}: some filters are refused, and most are accepted`,
  );
  if (seen !== undefined)
    report.rule(seen.broken >= found.searches / 2, `${name}: the tenant condition was removed`);
  if (searcher.searchOther === undefined) return;
  report.figure(name, "searches for another tenant", found.others, "count");
  report.figure(name, "searches for another tenant refused", found.othersRefused, "count");
  report.rule(
    found.others > 0 && found.othersRefused === found.others,
    `${name}: a search for another tenant than that of the context is refused (${found.othersRefused} of ${found.others})`,
  );
}

async function one(
  searcher: Searcher,
  { tenant, request, kind, filter }: Asked,
  found: Found,
): Promise<void> {
  try {
    const hits = await searcher.search(tenant, request);
    count(found, tenant, hits);
    if (kind === "vector" && filter === "none" && hits.length !== request.limit) found.short++;
    if (filter === "none") return;
    const { chunks } = await searcher.list(tenant, { filter: request.filter, limit: 50 });
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

/** Searches another tenant's documents in the context of the tenant. */
async function searchOther(
  searcher: Searcher,
  { tenant, other, request }: Asked,
  found: Found,
): Promise<void> {
  if (searcher.searchOther === undefined || other === tenant) return;
  found.others++;
  try {
    count(found, tenant, await searcher.searchOther(tenant, other, request));
  } catch (error) {
    if (error instanceof SearchError && error.code === "ERR_SVC_SEARCH_TENANT") found.othersRefused++;
    else found.failures.add(error instanceof Error ? error.message : "?");
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

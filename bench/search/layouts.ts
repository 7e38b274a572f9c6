import { DIMENSIONS } from "./generator.ts";
import type { Connection } from "./place.ts";
import type { Side } from "./side.ts";

/** A table of chunks and its indexes, as an application would create them by hand. */
export interface Layout {
  readonly name: Exclude<Side["name"], "svc">;
  readonly table: string;
  /** The type of the embeddings. */
  readonly type: "vector" | "halfvec";
  /** Whether `index()` copies the rows of `shared` instead of loading them, which is allowed because loads are not timed. */
  readonly isCopied: boolean;
  prepare(db: Connection): Promise<void>;
  /** Creates all indexes, and returns the build time and size of the approximate ones. */
  index(db: Connection): Promise<string>;
}

/** The parameters of a scenario that the layouts use. */
export interface LayoutOptions {
  /** The `ef_construction` of approximate indexes. */
  readonly efConstruction: number;
  readonly tenants: readonly string[];
  /** The number of chunks of each tenant. */
  readonly perTenant: number;
  /** A tenant with fewer chunks gets no partial index. */
  readonly indexAbove: number;
}

export const COLUMNS = "tenant_id, document_id, chunk_index, content, metadata, embedding";
const SHARED = "shared_chunks";

/** Returns a table of full precision with one approximate index over the chunks of all tenants. */
export function sharedLayout({ efConstruction }: LayoutOptions): Layout {
  const table = SHARED;
  return {
    name: "shared",
    table,
    type: "vector",
    isCopied: false,
    prepare: (db) => createTable(db, table, "vector"),
    async index(db) {
      await createWordIndexes(db, table);
      const seconds = await timed(() =>
        db.query(`create index shared_hnsw on ${table} using ${hnsw("vector", efConstruction)}`),
      );
      await db.query(`vacuum analyze ${table}`);
      return `one index, ef_construction ${efConstruction}: ${seconds}, ${await sizeOf(db, "shared_hnsw")}`;
    },
  };
}

/** Returns a table of half precision with a partial approximate index for each tenant that is large enough. */
export function partialLayout({ efConstruction, tenants, perTenant, indexAbove }: LayoutOptions): Layout {
  const table = "partial_chunks";
  return {
    name: "partial",
    table,
    type: "halfvec",
    isCopied: true,
    prepare: (db) => createTable(db, table, "halfvec"),
    async index(db) {
      await copyShared(db, table);
      await createWordIndexes(db, table);
      const large = perTenant < indexAbove ? [] : tenants;
      const seconds = await timed(async () => {
        for (const tenant of large) {
          await db.query(`create index partial_hnsw_${tenant} on ${table}
            using ${hnsw("halfvec", efConstruction)} where tenant_id = '${tenant}'`);
        }
      });
      await db.query(`vacuum analyze ${table}`);
      if (large.length === 0) return "none: no tenant has so many chunks";
      const size = await sizeOf(db, "partial_hnsw_%");
      return `one for each of ${large.length} tenants, ef_construction ${efConstruction}: ${seconds}, ${size}`;
    },
  };
}

/** Returns a table of half precision with a partition for each tenant, each with its own indexes. */
export function partitionsLayout({ efConstruction, tenants }: LayoutOptions): Layout {
  const table = "parted_chunks";
  return {
    name: "partitions",
    table,
    type: "halfvec",
    isCopied: true,
    async prepare(db) {
      await createTable(db, table, "halfvec", "partition by list (tenant_id)");
      for (const tenant of tenants)
        await db.query(`create table ${table}_${tenant} partition of ${table} for values in ('${tenant}')`);
    },
    async index(db) {
      await copyShared(db, table);
      await createWordIndexes(db, table);
      const seconds = await timed(() =>
        db.query(`create index parted_hnsw on ${table} using ${hnsw("halfvec", efConstruction)}`),
      );
      await db.query(`vacuum analyze ${table}`);
      const size = await sizeOf(db, `${table}_%_embedding_idx`);
      return `one for each of ${tenants.length} partitions, ef_construction ${efConstruction}: ${seconds}, ${size}`;
    },
  };
}

async function createTable(
  db: Connection,
  table: string,
  type: Layout["type"],
  partitioning = "",
): Promise<void> {
  await db.query(`drop table if exists ${table}`);
  // PostgreSQL requires that the primary key of a partitioned table contains the partition key.
  const key = partitioning === "" ? "primary key (id)" : "primary key (tenant_id, id)";
  await db.query(`create table ${table} (
    id bigserial, tenant_id text, document_id text not null, chunk_index int not null,
    content text not null, metadata jsonb not null default '{}', embedding ${type}(${DIMENSIONS}) not null,
    created_at timestamptz not null default now(),
    search_text tsvector generated always as (to_tsvector('simple', content)) stored, ${key}) ${partitioning}`);
}

async function createWordIndexes(db: Connection, table: string): Promise<void> {
  await db.query(`create unique index on ${table} (tenant_id, document_id, chunk_index)`);
  await db.query(`create index on ${table} using gin (search_text)`);
  await db.query(`create index on ${table} using gin (metadata jsonb_path_ops)`);
}

async function copyShared(db: Connection, table: string): Promise<void> {
  await db.query(`insert into ${table} (${COLUMNS}) select ${COLUMNS} from ${SHARED} order by id`);
}

function hnsw(type: Layout["type"], efConstruction: number): string {
  return `hnsw (embedding ${type}_cosine_ops) with (m = 16, ef_construction = ${efConstruction})`;
}

async function timed(work: () => Promise<unknown>): Promise<string> {
  const begun = performance.now();
  await work();
  return `${((performance.now() - begun) / 1000).toFixed(1)} s`;
}

/** Returns the size of all indexes whose names match. */
async function sizeOf(db: Connection, pattern: string): Promise<string> {
  const { rows } = await db.query(
    `select pg_size_pretty(sum(pg_relation_size(oid))) as size from pg_class where relkind = 'i' and relname like $1`,
    [pattern],
  );
  return String(rows[0]?.size);
}

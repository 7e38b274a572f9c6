import { copyRows, int4, jsonb, vector } from "./copy-rows.ts";
import { DIMENSIONS, type Made, type Query } from "./generator.ts";
import type { Connection } from "./place.ts";
import { type Ask, filterOf, LIMIT, type Side } from "./side.ts";

const TABLE = "shared_chunks";
const CANDIDATES = 40;

/** How its approximate index is built. */
export interface SharedIndex {
  readonly efConstruction: number;
}

/** One table with one approximate index over everybody's chunks, and the tenant as a condition. */
export function createShared(db: Connection, { efConstruction }: SharedIndex): Side {
  let width: number | undefined;
  return {
    name: "shared",
    async prepare() {
      await db.query(`drop table if exists ${TABLE}`);
      await db.query(`create table ${TABLE} (
        id bigserial primary key, tenant_id text, document_id text not null, chunk_index int not null,
        content text not null, metadata jsonb not null default '{}', embedding vector(${DIMENSIONS}) not null,
        created_at timestamptz not null default now(),
        search_text tsvector generated always as (to_tsvector('simple', content)) stored)`);
    },
    async load(_tenant, chunks) {
      if (db.pool === undefined) await insertRows(db, _tenant, chunks);
      else await copyRows(db.pool, `${TABLE} (${COLUMNS})`, fieldsOf(_tenant, chunks));
    },
    async index() {
      await db.query(`create unique index on ${TABLE} (tenant_id, document_id, chunk_index)`);
      await db.query(`create index on ${TABLE} using gin (search_text)`);
      await db.query(`create index on ${TABLE} using gin (metadata jsonb_path_ops)`);
      const begun = performance.now();
      await db.query(`create index shared_hnsw on ${TABLE} using hnsw (embedding vector_cosine_ops)
        with (m = 16, ef_construction = ${efConstruction})`);
      const seconds = (performance.now() - begun) / 1000;
      await db.query(`vacuum analyze ${TABLE}`);
      const { rows } = await db.query("select pg_size_pretty(pg_relation_size('shared_hnsw')) as size");
      return `one index, ef_construction ${efConstruction}: ${seconds.toFixed(1)} s, ${String(rows[0]?.size)}`;
    },
    async widen(efSearch) {
      if (efSearch === width) return;
      width = efSearch;
      // Of the session: it costs its searches no round trip.
      await db.query(`set hnsw.ef_search = ${efSearch}`);
      await db.query("set hnsw.iterative_scan = relaxed_order");
    },
    async search(query, ask) {
      const { text, values } = statementOf(query, ask);
      const { rows } = await db.query(text, values);
      return rows.map((row) => ({
        key: `${String(row.document_id)}/${String(row.chunk_index)}`,
        vectorRank: row.vector_rank === null ? null : Number(row.vector_rank),
      }));
    },
    async plan(query, ask) {
      const { text, values } = statementOf(query, ask);
      const { rows } = await db.query(`explain (costs off) ${text}`, values);
      return rows.map((row) => String(row["QUERY PLAN"]));
    },
  };
}

interface Statement {
  readonly text: string;
  readonly values: unknown[];
}

function statementOf(query: Query, ask: Ask): Statement {
  const values: unknown[] = [`[${query.vector.join(",")}]`, query.tenant];
  const shown = "document_id, chunk_index, content, metadata, 1 - distance as score";
  const nearest = (condition: string, limit: number): string =>
    `select id, document_id, chunk_index, content, metadata, embedding <=> $1::vector as distance
     from ${TABLE} where tenant_id = $2 ${condition} order by embedding <=> $1::vector limit ${limit}`;
  if (ask === "vector") {
    return { text: `select ${shown}, null as vector_rank from (${nearest("", LIMIT)}) as near`, values };
  }
  if (ask !== "hybrid") {
    return {
      text: `select ${shown}, null as vector_rank from (${nearest("and metadata @> $3::jsonb", LIMIT)}) as near`,
      values: [...values, JSON.stringify(filterOf(query, ask))],
    };
  }
  const text = `
    with v as (
      select id, row_number() over (order by distance, id) as rank from (${nearest("", CANDIDATES)}) as near
    ), t as (
      select id, row_number() over (order by weight desc, id) as rank from (
        select id, ts_rank_cd(search_text, words) as weight
        from ${TABLE}, websearch_to_tsquery('simple', $3) as words
        where tenant_id = $2 and search_text @@ words order by weight desc, id limit ${CANDIDATES}) as best
    ), fused as (
      select id, v.rank as vector_rank, coalesce(1.0 / (60 + v.rank), 0) + coalesce(1.0 / (60 + t.rank), 0) as fused
      from v full join t using (id) order by fused desc, id limit ${LIMIT}
    )
    select document_id, chunk_index, content, metadata, 1 - (embedding <=> $1::vector) as score, vector_rank
    from fused join ${TABLE} using (id) where tenant_id = $2 order by fused desc, id`;
  return { text, values: [...values, query.text] };
}

const COLUMNS = "tenant_id, document_id, chunk_index, content, metadata, embedding";

function* fieldsOf(tenant: string, chunks: readonly Made[]): Generator<readonly Buffer[]> {
  for (const { documentId, ordinal, content, meta, embedding } of chunks) {
    const [of, document, text] = [tenant, documentId, content].map((value) => Buffer.from(value));
    yield [of, document, int4(ordinal), text, jsonb(meta), vector(embedding)] as readonly Buffer[];
  }
}

const BATCH = 500;

async function insertRows(db: Connection, tenant: string, chunks: readonly Made[]): Promise<void> {
  for (let at = 0; at < chunks.length; at += BATCH) {
    const batch = chunks.slice(at, at + BATCH);
    await db.query(
      `insert into ${TABLE} (${COLUMNS})
       select $1, * from unnest($2::text[], $3::int[], $4::text[], $5::jsonb[], $6::text[]::vector[])`,
      [
        tenant,
        batch.map(({ documentId }) => documentId),
        batch.map(({ ordinal }) => ordinal),
        batch.map(({ content }) => content),
        batch.map(({ meta }) => JSON.stringify(meta)),
        batch.map(({ embedding }) => `[${embedding.join(",")}]`),
      ],
    );
  }
}

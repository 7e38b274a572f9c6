import { copyRows, int4, jsonb, vector } from "./copy-rows.ts";
import type { Made, Query } from "./generator.ts";
import { COLUMNS, type Layout } from "./layouts.ts";
import type { Connection } from "./place.ts";
import { type Ask, filterOf, LIMIT, type Side } from "./side.ts";

const CANDIDATES = 40;

/** Searches a table by handwritten statements with the tenant as a condition. */
export function createByHand(db: Connection, layout: Layout): Side {
  let width: number | undefined;
  return {
    name: layout.name,
    prepare: () => layout.prepare(db),
    async load(tenant, chunks) {
      if (layout.isCopied) return;
      if (db.pool === undefined) await insertRows(db, layout.table, tenant, chunks);
      else await copyRows(db.pool, `${layout.table} (${COLUMNS})`, fieldsOf(tenant, chunks));
    },
    index: () => layout.index(db),
    async widen(efSearch) {
      if (efSearch === width) return;
      width = efSearch;
      // Set these values once for the session, so that searches need no further round trip.
      await db.query(`set hnsw.ef_search = ${efSearch}`);
      await db.query("set hnsw.iterative_scan = relaxed_order");
    },
    async search(query, ask) {
      const { text, values } = statementOf(layout, query, ask);
      const { rows } = await db.query(text, values);
      return rows.map((row) => ({
        key: `${String(row.document_id)}/${String(row.chunk_index)}`,
        vectorRank: row.vector_rank === null ? null : Number(row.vector_rank),
      }));
    },
    async plan(query, ask) {
      const { text, values } = statementOf(layout, query, ask);
      const { rows } = await db.query(`explain (costs off) ${text}`, values);
      return rows.map((row) => String(row["QUERY PLAN"]));
    },
  };
}

interface Statement {
  readonly text: string;
  readonly values: unknown[];
}

function statementOf({ table, type }: Layout, query: Query, ask: Ask): Statement {
  const values: unknown[] = [`[${query.vector.join(",")}]`, query.tenant];
  const shown = "document_id, chunk_index, content, metadata, 1 - distance as score";
  const nearest = (condition: string, limit: number): string =>
    `select id, document_id, chunk_index, content, metadata, embedding <=> $1::${type} as distance
     from ${table} where tenant_id = $2 ${condition} order by embedding <=> $1::${type} limit ${limit}`;
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
        from ${table}, websearch_to_tsquery('simple', $3) as words
        where tenant_id = $2 and search_text @@ words order by weight desc, id limit ${CANDIDATES}) as best
    ), fused as (
      select id, v.rank as vector_rank, coalesce(1.0 / (60 + v.rank), 0) + coalesce(1.0 / (60 + t.rank), 0) as fused
      from v full join t using (id) order by fused desc, id limit ${LIMIT}
    )
    select document_id, chunk_index, content, metadata, 1 - (embedding <=> $1::${type}) as score, vector_rank
    from fused join ${table} using (id) where tenant_id = $2 order by fused desc, id`;
  return { text, values: [...values, query.text] };
}

function* fieldsOf(tenant: string, chunks: readonly Made[]): Generator<readonly Buffer[]> {
  for (const { documentId, ordinal, content, meta, embedding } of chunks) {
    const [of, document, text] = [tenant, documentId, content].map((value) => Buffer.from(value));
    yield [of, document, int4(ordinal), text, jsonb(meta), vector(embedding)] as readonly Buffer[];
  }
}

const BATCH = 500;

async function insertRows(
  db: Connection,
  table: string,
  tenant: string,
  chunks: readonly Made[],
): Promise<void> {
  for (let at = 0; at < chunks.length; at += BATCH) {
    const batch = chunks.slice(at, at + BATCH);
    await db.query(
      `insert into ${table} (${COLUMNS})
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

import { createSearchStore, type SearchRequest, type SearchStoreOptions } from "@svc/search-store";
import { DIMENSIONS, type Query } from "./generator.ts";
import type { Connection } from "./place.ts";
import { type Ask, filterOf, LIMIT, type Side } from "./side.ts";

/** Returns the side of `@svc/search-store`, with approximate indexes for tenants with at least `indexAbove` chunks. */
export function createSvc(db: Connection, { indexAbove }: { readonly indexAbove: number }): Side {
  const settings = { dimensions: DIMENSIONS, filterKeys: ["kind", "batch"], indexAbove, indexBelow: 1 };
  const store = createSearchStore({ db: db.database, ...settings });
  let efSearch = 100;

  return {
    name: "svc",
    async prepare() {
      await db.query("drop table if exists svc_chunks");
      await store.ensureSchema();
    },
    async load(tenant, chunks) {
      await store.ingestBulk(tenant, chunks);
    },
    async index() {
      const begun = performance.now();
      const { created } = await store.maintainIndexes();
      const seconds = (performance.now() - begun) / 1000;
      await db.query("vacuum analyze svc_chunks");
      if (created.length === 0) return "none: no tenant has so many chunks";
      const { rows } = await db.query(
        `select pg_size_pretty(sum(pg_relation_size(oid))) as size from pg_class where relname = any($1::text[])`,
        [created],
      );
      return `one for each of ${created.length} tenants: ${seconds.toFixed(1)} s, ${String(rows[0]?.size)}`;
    },
    widen(width) {
      efSearch = width;
      return Promise.resolve();
    },
    async search(query, ask) {
      const hits = await store.search(query.tenant, requestOf(query, ask, efSearch));
      return hits.map(({ documentId, ordinal, vectorRank }) => ({
        key: `${documentId}/${ordinal}`,
        vectorRank,
      }));
    },
    async plan(query, ask) {
      const sent: Sent[] = [];
      const listening = createSearchStore({ db: listen(db, sent), ...settings });
      await listening.search(query.tenant, requestOf(query, ask, efSearch));
      const [statement] = sent.filter(({ text }) => text.includes("svc_chunks"));
      if (statement === undefined) throw new Error("the search sent no statement that names the table");
      const { rows } = await db.query(`explain (costs off) ${statement.text}`, statement.values);
      return rows.map((row) => String(row["QUERY PLAN"]));
    },
  };
}

function requestOf(query: Query, ask: Ask, efSearch: number): SearchRequest {
  const { vector, text } = query;
  const request = { vector, limit: LIMIT, efSearch };
  if (ask === "vector") return request;
  return ask === "hybrid" ? { ...request, text } : { ...request, filter: { ...filterOf(query, ask) } };
}

interface Sent {
  readonly text: string;
  readonly values: unknown[] | undefined;
}

type Db = SearchStoreOptions["db"];
type Queryable = Extract<Db, { readonly query: unknown }>;

/** Returns the database. It records its statements in `sent`. */
function listen({ database, pool }: Connection, sent: Sent[]): Db {
  const heard = (connection: Queryable): Queryable => ({
    query<R extends Record<string, unknown>>(text: string, values?: unknown[]) {
      sent.push({ text, values });
      return connection.query<R>(text, values);
    },
  });
  if (pool === undefined) return heard(database as Queryable);
  return {
    async connect() {
      const connection = await pool.connect();
      return { ...heard(connection), release: (error) => connection.release(error) };
    },
  };
}

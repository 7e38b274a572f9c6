import { createHash } from "node:crypto";
import { createSearchStore, type SearchStore } from "@svc/search-store";
import { DIMENSIONS, type Made } from "../search/generator.ts";
import type { Connection, Queryable } from "../search/place.ts";

/** One way to load chunks into the table. */
export interface Way {
  readonly name: string;
  /** A description for the printed table. */
  readonly about: string;
  /** The share of all chunks that it loads: slow ways load fewer. */
  readonly share: number;
  /** Prepares the table before the measurement. */
  prepare?(site: Site): Promise<unknown>;
  run(site: Site, chunks: readonly Made[]): Promise<unknown>;
}

/** The destination of the chunks: the database, its search store, and the tenant. */
export interface Site {
  readonly db: Connection;
  readonly store: SearchStore;
  readonly tenant: string;
}

const TABLE = "svc_chunks";
const ROWS = 500;

/** Opens the store in the database and creates its table. */
export async function openSite(db: Connection, tenant: string): Promise<Site> {
  const store = createSearchStore({ db: db.database, dimensions: DIMENSIONS });
  await store.ensureSchema();
  return { db, store, tenant };
}

/** Removes all rows and the tenants' indexes. */
export async function clear({ db, store, tenant }: Site): Promise<void> {
  await store.dropTenantIndex(tenant);
  await db.query(`truncate ${TABLE}`);
}

const loadBulk = ({ store, tenant }: Site, chunks: readonly Made[]): Promise<unknown> =>
  store.ingestBulk(tenant, chunks);

/** Each way with handwritten inserts runs in one transaction. The table has its primary key and its full-text index. */
export const ways: readonly Way[] = [
  { name: "copy", about: "ingestBulk(): a binary COPY", share: 1, run: loadBulk },
  {
    name: "multi-row",
    about: `inserts of ${ROWS} rows, from arrays`,
    share: 1,
    run: (site, chunks) => inTransaction(site, (tx) => insert(tx, site.tenant, chunks, ROWS)),
  },
  {
    name: "row-by-row",
    about: "an insert for each row",
    share: 0.2,
    run: (site, chunks) => inTransaction(site, (tx) => insert(tx, site.tenant, chunks, 1)),
  },
  {
    name: "index-after",
    about: "ingestBulk(), then the tenant's approximate index",
    share: 1,
    async run(site, chunks) {
      await loadBulk(site, chunks);
      await site.store.ensureTenantIndex(site.tenant);
    },
  },
  {
    name: "index-before",
    about: "the index first, then ingestBulk()",
    share: 1,
    prepare: ({ store, tenant }) => store.ensureTenantIndex(tenant),
    run: loadBulk,
  },
];

async function inTransaction({ db }: Site, work: (tx: Queryable) => Promise<void>): Promise<void> {
  const client = await db.pool?.connect();
  const tx = client ?? db;
  try {
    await tx.query("begin");
    await work(tx);
    await tx.query("commit");
  } finally {
    client?.release();
  }
}

async function insert(tx: Queryable, tenant: string, chunks: readonly Made[], rows: number): Promise<void> {
  for (let at = 0; at < chunks.length; at += rows) {
    const batch = chunks.slice(at, at + rows);
    const [one] = batch;
    if (rows === 1 && one !== undefined) await tx.query(INSERT_ONE, [tenant, ...valuesOf(one)]);
    else {
      const columns = batch.map(valuesOf);
      await tx.query(INSERT_MANY, [
        tenant,
        ...TYPES.map((_, column) => columns.map((values) => values[column])),
      ]);
    }
  }
}

const COLUMNS = "tenant_id, document_id, ordinal, content, content_sha256, meta, embedding";
const TYPES = ["text", "int", "text", "bytea", "jsonb", "text"];
const INSERT_ONE = `insert into ${TABLE} (${COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7::text::halfvec)`;
const INSERT_MANY = `insert into ${TABLE} (${COLUMNS})
select $1, document_id, ordinal, content, hash, meta, embedding::halfvec
from unnest(${TYPES.map((type, at) => `$${at + 2}::${type}[]`).join(", ")})
  as given (document_id, ordinal, content, hash, meta, embedding)`;

function valuesOf({ documentId, ordinal, content, meta, embedding }: Made): unknown[] {
  const hash = createHash("sha256").update(content).digest();
  return [documentId, ordinal, content, hash, JSON.stringify(meta), `[${embedding.join(",")}]`];
}

import { createSearchStore, type Filter, type SearchRequest, type SearchStore } from "@svc/search-store";
import { expect } from "chai";
import type { Connectable } from "@svc/sql";
import { newTable, type useBackends } from "../support/backends.ts";
import { direction, seeded } from "../support/random.ts";
import { watched } from "../support/watched.ts";

const DIMENSIONS = 8;
const DOCUMENTS = 1000;
const TENANTS = ["a", "A", "a' or '1'='1"];

/** Removes the condition on the tenant from a statement, to simulate a bug. */
const forgetful = (text: string): string =>
  text.replaceAll(/\b(?:c\.)?tenant_id = \$1(?:::text)?/g, "$1::text is not null");

const FILTERS: readonly (Filter | undefined)[] = [
  undefined,
  { kind: "k1" },
  { or: [{ tenant_id: { exists: false } }, { tenant_id: "b" }] },
  { not: { "') or true --": 1 } },
  { "x' = 'x') or (c.tenant_id <> '": { exists: false } },
  { kind: { in: ["k1", "') or true or ('", "k2"] } },
];

export function tenantCases(backends: ReturnType<typeof useBackends>): void {
  it("SEARCH-1 never find another tenant's chunks, with any filter and, with row security, even without a tenant condition", async function () {
    this.timeout(120_000);
    for (const { db, store: newStore, name } of backends.all.slice(-1)) {
      const table = newTable();
      const owner = await newStore({ table, dimensions: DIMENSIONS, rowSecurity: true });
      await fill(db, table, owner);
      const role = `reader_${name}_${process.pid}`;
      const admin = await db.connect();
      await admin.query(`create role ${role}`);
      await admin.query(`grant select on ${table} to ${role}`);
      admin.release();
      try {
        const options = { table, dimensions: DIMENSIONS };
        await eachHit(createSearchStore({ ...options, db }), 0);
        // Control: without row security, a statement without a tenant condition does return other tenants' chunks.
        await eachHit(createSearchStore({ ...options, db: watched(db, { change: forgetful }) }), 1);
        const wall = watched(db, { change: forgetful, role });
        await eachHit(createSearchStore({ ...options, db: wall, rowSecurity: true }), 0);
        // Without a tenant set, row security hides all rows.
        const nobody = createSearchStore({ ...options, db: watched(db, { change: forgetful, role }) });
        expect(await nobody.search("a", { text: "word" })).to.deep.equal([]);
      } finally {
        const last = await db.connect();
        await last.query(`drop owned by ${role}`);
        await last.query(`drop role ${role}`);
        last.release();
      }
    }
  });
}

async function fill(db: Connectable, table: string, store: SearchStore): Promise<void> {
  const random = seeded(23);
  for (const tenant of TENANTS) {
    const chunks = Array.from({ length: DOCUMENTS }, (_, n) => ({
      documentId: `d${n}`,
      content: `word w${n % 17}`,
      meta: { owner: tenant, kind: `k${n % 3}` },
      embedding: direction(random, DIMENSIONS),
    }));
    await store.ingestBulk(tenant, chunks);
  }
  const connection = await db.connect();
  await connection.query(`analyze ${table}`);
  connection.release();
}

async function eachHit(store: SearchStore, leaks: 0 | 1): Promise<void> {
  const random = seeded(5);
  let hits = 0;
  let foreign = 0;
  for (const tenant of TENANTS) {
    for (const filter of FILTERS) {
      const vector = direction(random, DIMENSIONS);
      const requests: SearchRequest[] = [
        { vector },
        { text: "word" },
        { vector, text: `w${Math.floor(random() * 17)}` },
      ];
      for (const request of requests) {
        for (const { meta } of await store.search(tenant, { ...request, filter, limit: 20 })) {
          hits += 1;
          if (meta["owner"] !== tenant) foreign += 1;
        }
      }
    }
  }
  expect(hits).to.be.above(500);
  expect(Math.sign(foreign)).to.equal(leaks);
}

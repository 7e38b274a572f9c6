import { expect } from "chai";
import { newTable } from "../support/backends.ts";
import { type Backends, everywhere, once } from "../support/everywhere.ts";
import { failureOf } from "../support/failure.ts";

export function tableCases(backends: Backends): void {
  everywhere(
    backends,
    "is created once, even by concurrent calls, and reported as present by later calls",
    async ({ db, store }) => {
      const table = newTable();
      const stores = await Promise.all([store({ table }), store({ table }), store({ table })]);
      for (const each of stores) expect(await each.ensureSchema()).to.equal("present");
      const { rows } = await db.query<{ type: string }>(
        `select format_type(atttypid, atttypmod) as type from pg_attribute
       where attrelid = to_regclass($1) and attname = 'embedding'`,
        [table],
      );
      expect(rows).to.deep.equal([{ type: "halfvec(3)" }]);
    },
  );

  once(backends, "is the same as the table that the migrations create", async ({ db, store }) => {
    const table = newTable();
    const options = { table, filterKeys: ["kind", "it's"], precision: "full", rowSecurity: true } as const;
    const made = await store({ ...options, table: newTable() });
    for (const { statements } of made.migrations()) {
      for (const statement of statements) await db.query(statement.replaceAll(/chunks_\d+/g, table));
    }
    const again = await store(options);
    expect(await again.ensureSchema()).to.equal("present");
    expect(made.migrations().map((each) => each.name)[0]).to.equal("0001_vector");
  });

  once(backends, "is rejected if it exists with a different definition", async ({ db, store }) => {
    const table = newTable();
    await store({ table });
    const schema = "ERR_SVC_SEARCH_SCHEMA";
    const dimensions = await failureOf(store({ table, dimensions: 4 }));
    expect(dimensions).to.include({
      code: schema,
      message: `${table}.embedding must be halfvec(4); it is halfvec(3)`,
    });
    expect((await failureOf(store({ table, precision: "full" }))).code).to.equal(schema);
    expect((await failureOf(store({ table, textConfig: "english" }))).message).to.contain("it uses simple");
    const other = newTable();
    await db.query(`create table ${other} (id int)`);
    expect((await failureOf(store({ table: other }))).code).to.equal(schema);
    expect((await failureOf(store({ textConfig: "klingon" }))).code).to.equal("42704");
  });

  once(backends, "may have the name of a part of a statement", async ({ store }) => {
    for (const table of ["s", "v", "t", "f", "given", "old"]) {
      const each = await store({ table });
      await each.ingest("a", "d", [{ content: "one", embedding: [1, 0, 0] }]);
      for (const request of [{ vector: [1, 0, 0] }, { text: "one" }, { vector: [1, 0, 0], text: "one" }])
        expect(await each.search("a", request), `${table} ${JSON.stringify(request)}`).to.have.length(1);
    }
  });

  everywhere(backends, "is named in the error if it is missing", async ({ db, store }) => {
    const table = newTable();
    const gone = await store({ table });
    await db.query(`drop table ${table}`);
    const code = "ERR_SVC_SEARCH_SCHEMA";
    for (const run of [() => gone.list("t"), () => gone.ingest("t", "d", []), () => gone.stats("t")]) {
      const error = await failureOf(run());
      expect(error.code).to.equal(code);
      expect(error.message).to.equal(
        `the table ${table} is missing: call ensureSchema(), or run the statements of migrations()`,
      );
    }
    const check = await gone.readiness().check(new AbortController().signal);
    expect(check).to.include({ healthy: false, critical: false, detail: "its table is missing" });
  });
}

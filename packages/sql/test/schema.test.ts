import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { testDatabase } from "@svc/dev-services";
import {
  ensureSchema,
  OptionError,
  SchemaError,
  type SchemaOptions,
  sqlStateOf,
  withTransaction,
  tableNeeds,
} from "@svc/sql";
import { expect } from "chai";
import type pg from "pg";
import { connections } from "./support/connections.ts";
import { failure } from "./support/failure.ts";

/** A table with an index in its own schema; its statements fail when any part exists. */
function shelf(name: string): SchemaOptions {
  return {
    name,
    tables: { [`${name}.books`]: { id: "text", pages: "integer", read_at: "timestamptz", tags: "text[]" } },
    relations: [`${name}.books_by_pages`],
    statements: [
      `create schema ${name}`,
      `create table ${name}.books (id text primary key, pages int not null, read_at timestamptz, tags text[])`,
      `create index books_by_pages on ${name}.books (pages)`,
    ],
  };
}

describe("ensureSchema", () => {
  const database = testDatabase({ name: "schema" });
  const { client, pool: newPool, end } = connections(() => database.url);
  let pool: pg.Pool;
  before(() => {
    pool = newPool({ max: 20 });
  });
  after(end);

  async function columns(schema: string): Promise<string[]> {
    const { rows } = await pool.query<{ column_name: string }>(
      "select column_name from information_schema.columns where table_schema = $1 order by ordinal_position",
      [schema],
    );
    return rows.map((row) => row.column_name);
  }

  it("creates what is missing, and reports it as present the next time", async () => {
    expect(await ensureSchema(pool, shelf("first"))).to.equal("created");
    expect(await columns("first")).to.deep.equal(["id", "pages", "read_at", "tags"]);
    expect(await ensureSchema(pool, shelf("first"))).to.equal("present");
    expect(pool.totalCount).to.equal(pool.idleCount);
  });

  it("creates the schema once when sixteen connections call it at the same time, repeatedly", async () => {
    const clients = await Promise.all(Array.from({ length: 16 }, client));
    for (let round = 0; round < 8; round++) {
      const options = shelf(`herd${round}`);
      const harmless = options.statements.map((each) =>
        each.replace(/^create (\w+)/, "create $1 if not exists"),
      );
      const statements = round % 2 === 0 ? harmless : options.statements;
      const outcomes = await Promise.all(
        clients.map((each) => ensureSchema(each, { ...options, statements })),
      );
      expect(outcomes.filter((each) => each === "created")).to.have.lengthOf(1);
      expect(outcomes.filter((each) => each === "present")).to.have.lengthOf(15);
    }
  });

  it("creates the schema once when four processes start on an empty database", async () => {
    const program = `
      import pg from "pg"; import { ensureSchema } from "@svc/sql";
      const pool = new pg.Pool({ connectionString: process.argv[1] });
      const options = JSON.parse(process.argv[2]);
      console.log(await ensureSchema(pool, options)); await pool.end();`;
    const args = ["--conditions=@svc/source", "--input-type=module", "-e", program];
    const run = promisify(execFile);
    const options = JSON.stringify(shelf("processes"));
    const outputs = await Promise.all(
      Array.from({ length: 4 }, () =>
        run(process.execPath, [...args, database.url, options], { cwd: import.meta.dirname }),
      ),
    );
    const said = outputs.map(({ stdout }) => stdout.trim()).toSorted();
    expect(said).to.deep.equal(["created", "present", "present", "present"]);
  });

  it("JOB-29 takes no strong lock and no advisory lock when nothing is missing", async () => {
    await ensureSchema(pool, shelf("quiet"));
    const db = await client();
    await db.query("begin");
    expect(await ensureSchema(db, shelf("quiet"))).to.equal("present");
    const { rows } = await db.query<{ locktype: string; mode: string }>(
      "select locktype, mode from pg_locks where pid = pg_backend_pid() and locktype <> 'virtualxid'",
    );
    expect(rows).to.not.deep.equal([]);
    expect(
      rows.filter(({ locktype, mode }) => locktype !== "relation" || mode !== "AccessShareLock"),
    ).to.deep.equal([]);
    await db.query("rollback");
  });

  it("JOB-29 does not wait for any lock of another session when nothing is missing", async () => {
    await ensureSchema(pool, shelf("busy"));
    const other = await client();
    await other.query("begin");
    await other.query("lock table busy.books in access exclusive mode");
    await other.query("select pg_advisory_xact_lock(hashtextextended('svc/schema/busy', 0))");
    const db = await client();
    await db.query("set statement_timeout = '5s'");
    expect(await ensureSchema(db, shelf("busy"))).to.equal("present");
    await other.query("rollback");
  });

  it("waits for another session that holds the lock of the same name, and fails after lockTimeoutMs", async () => {
    const other = await client();
    await other.query("begin");
    await other.query("select pg_advisory_xact_lock(hashtextextended('svc/schema/held', 0))");
    const error = await failure(ensureSchema(pool, { ...shelf("held"), lockTimeoutMs: 50 }));
    expect(sqlStateOf(error)).to.equal("55P03");
    const waiting = ensureSchema(pool, shelf("held"));
    await other.query("commit");
    expect(await waiting).to.equal("created");
  });

  it("JOB-28 accepts a table created by hand, with aliases of its types and additional columns", async () => {
    await pool.query(`
      create schema by_hand;
      create table by_hand.books (note text, tags _text, id text primary key, pages int4 not null,
        read_at timestamp with time zone, kept boolean not null default true,
        number bigint generated always as identity, twice int generated always as (pages * 2) stored not null);
      create index books_by_pages on by_hand.books (pages)`);
    expect(await ensureSchema(pool, shelf("by_hand"))).to.equal("present");
  });

  it("accepts any of the listed types", async () => {
    await pool.query("create table either (id varchar(64), payload json)");
    const options = {
      name: "either",
      tables: { either: { id: ["text", "varchar"], payload: ["jsonb", "json"] } },
      statements: ["select 1/0"],
    };
    expect(await ensureSchema(pool, options)).to.equal("present");
  });

  it("lists every unexpected column, and alters nothing", async () => {
    await pool.query(
      "create schema other; create table other.books (id uuid, pages int, owner text not null)",
    );
    const error = await failure(ensureSchema(pool, shelf("other")));
    expect(error).to.be.instanceOf(SchemaError);
    expect(error).to.include({ code: "ERR_SVC_SCHEMA", name: "SchemaError" });
    expect(error).to.have.deep.property("faults", [
      "other.books.id must be text; it is uuid",
      "other.books.read_at is missing; it must be timestamptz",
      "other.books.tags is missing; it must be text[]",
      "other.books.owner is an unexpected column without a default, so no row can be inserted",
    ]);
    expect(error.message).to.match(
      /^the schema other is not as expected:\n {2}- other\.books\.id must be text/,
    );
    expect(await columns("other")).to.deep.equal(["id", "pages", "owner"]);
  });

  it("runs the statements when only an index is missing", async () => {
    await pool.query("create table half (id text)");
    const options = {
      name: "half",
      tables: { half: { id: "text" } },
      relations: ["half_by_id"],
      statements: [
        "create table if not exists half (id text)",
        "create index if not exists half_by_id on half (id)",
      ],
    };
    expect(await ensureSchema(pool, options)).to.equal("created");
    expect(await ensureSchema(pool, options)).to.equal("present");
  });

  it("finds tables and columns whose names have upper case and quotes", async () => {
    const options = {
      name: "odd",
      tables: { 'Odd "Table"': { "Id's": "text" } },
      statements: [`create table "Odd ""Table""" ("Id's" text)`],
    };
    expect(await ensureSchema(pool, options)).to.equal("created");
    expect(await ensureSchema(pool, options)).to.equal("present");
  });

  it("runs the statements only while the query isPresent returns false", async () => {
    await pool.query("create table versions (version int)");
    const options = {
      name: "versions",
      isPresent: "select exists (select from versions where version >= 2)",
      statements: ["insert into versions values (2)"],
    };
    expect(await ensureSchema(pool, options)).to.equal("created");
    expect(await ensureSchema(pool, options)).to.equal("present");
  });

  it("reports every message in needs when isPresent is still false", async () => {
    const options = {
      name: "needy",
      isPresent: "select false",
      needs: ["needy needs a key", "needy needs an index"],
      statements: ["create table needy (id text)"],
    };
    const error = await failure(ensureSchema(pool, options));
    expect(error)
      .to.be.instanceOf(SchemaError)
      .and.to.have.property("faults")
      .that.deep.equals(options.needs);
    expect(await columns("needy")).to.deep.equal([]);
  });

  it("reports only the needs whose columns are false, when each need has a column", async () => {
    const options = {
      name: "needy",
      isPresent: "select true as a, null as b, false as c",
      needs: ["needy needs a key", "needy needs an index", "needy needs a column"],
      statements: ["create table needy (id text)"],
    };
    const error = await failure(ensureSchema(pool, options));
    expect(error).to.have.property("faults").that.deep.equals(options.needs.slice(1));
  });

  for (const [what, sql] of [
    ["a view", "create view %s as select 'a'::text as id"],
    ["a materialized view", "create materialized view %s as select 'a'::text as id"],
    ["a type", "create type %s as (id text)"],
  ] as const) {
    it(`rejects ${what} in place of a table if something is missing, and accepts it otherwise`, async () => {
      const name = `instead_${what.replaceAll(" ", "_")}`;
      await pool.query(sql.replace("%s", name));
      const tables = { [name]: { id: "text" } };
      const options = { name, tables, statements: ["select 1"] };
      const error = await failure(ensureSchema(pool, { ...options, isPresent: "select false" }));
      expect(error).to.be.instanceOf(SchemaError);
      expect(error)
        .to.have.property("faults")
        .that.deep.equals([`${name} must be a table; it is ${what}`]);
      expect(await ensureSchema(pool, { ...options, isPresent: "select true" })).to.equal("present");
    });
  }

  describe("tableNeeds", () => {
    const needs = {
      key: "id",
      indexes: [{ columns: ["due", "Odd"], status: "new" }, { columns: ["due"] }],
      nullable: ["Odd", "note"],
    };
    const make = (name: string): readonly string[] => [
      `create table if not exists ${name} (id text primary key, "Odd" text, note text, due int not null, status varchar(9))`,
      `create index if not exists ${name}_a on ${name} (due, "Odd", note) where (status)::text = 'new'`,
      `create index if not exists ${name}_b on ${name} (due desc)`,
    ];
    it("accepts a table with the required key, nullable columns and indexes, whatever their names", async () => {
      for (const statement of make("fit")) await pool.query(statement);
      const options = { name: "fit", tables: { fit: { id: "text" } }, statements: ["select 1"] };
      const loose = { ...options, tables: { fit: { id: "text", due: "integer" } } };
      expect(await ensureSchema(pool, { ...loose, ...tableNeeds("fit", needs) })).to.equal("present");
      expect(await ensureSchema(pool, { ...loose, ...tableNeeds("public.fit", needs) })).to.equal("present");
    });

    it("requires no column to accept null when the list of them is empty", async () => {
      await pool.query("create table strict (id text primary key, note text not null)");
      const options = {
        name: "strict",
        tables: { strict: { id: "text", note: "text" } },
        statements: ["select 1"],
      };
      const strict = tableNeeds("strict", { key: "id", indexes: [], nullable: [] });
      expect(await ensureSchema(pool, { ...options, ...strict })).to.equal("present");
    });

    for (const [what, change, lacks] of [
      [
        "no key",
        "alter table %s drop constraint %s_pkey",
        ["%s needs a primary key or unique index on id alone, with a deterministic collation"],
      ],
      [
        "no partial index",
        "drop index %s_a; create index on %s (due, \"Odd\") where status = 'old'",
        ["%s needs an index on (due, Odd) where status = 'new'"],
      ],
      [
        "an index on other columns",
        "drop index %s_b; create index on %s (note, due)",
        ["%s needs an index on (due)"],
      ],
      [
        "a column that rejects null",
        "alter table %s alter note set not null",
        ["Odd, note of %s must be nullable"],
      ],
      [
        "no indexes and a column that rejects null",
        "drop index %s_a, %s_b; alter table %s drop constraint %s_pkey, alter note set not null",
        [
          "%s needs a primary key or unique index on id alone, with a deterministic collation",
          "%s needs an index on (due, Odd) where status = 'new'",
          "%s needs an index on (due)",
          "Odd, note of %s must be nullable",
        ],
      ],
    ] as const) {
      it(`rejects a table with ${what}, and lists what is missing`, async () => {
        const name = `unfit_${what.replaceAll(/\W+/g, "_")}`;
        for (const statement of make(name)) await pool.query(statement);
        await pool.query(change.replaceAll("%s", name));
        const tables = { [name]: { id: "text", due: "integer", note: "text" } };
        const error = await failure(
          ensureSchema(pool, { name, tables, statements: ["select 1"], ...tableNeeds(name, needs) }),
        );
        expect(error).to.be.instanceOf(SchemaError);
        expect(error)
          .to.have.property("faults")
          .that.deep.equals(lacks.map((each) => each.replaceAll("%s", name)));
      });
    }
  });

  it("rolls back statements that do not create what they should", async () => {
    const options = {
      name: "liar",
      tables: { liar_a: { id: "text" }, liar_b: { id: "text" } },
      statements: ["create table liar_a (id int)"],
    };
    const error = await failure(ensureSchema(pool, options));
    expect(error).to.be.instanceOf(SchemaError);
    expect(error).to.have.deep.property("faults", [
      "liar_b is still missing after all statements ran",
      "liar_a.id must be text; it is integer",
    ]);
    const { rows } = await pool.query("select to_regclass('liar_a') as found");
    expect(rows).to.deep.equal([{ found: null }]);
  });

  it("rejects with a statement's error and rolls back the other statements", async () => {
    const options = shelf("broken");
    const statements = [...options.statements, "select 1/0"];
    const error = await failure(ensureSchema(pool, { ...options, statements }));
    expect(sqlStateOf(error)).to.equal("22012");
    expect(await columns("broken")).to.deep.equal([]);
  });

  it("sees what other sessions created when the server's default isolation is serializable", async () => {
    const clients = await Promise.all(Array.from({ length: 8 }, client));
    await Promise.all(
      clients.map((each) => each.query("set default_transaction_isolation = 'serializable'")),
    );
    const outcomes = await Promise.all(clients.map((each) => ensureSchema(each, shelf("strict"))));
    expect(outcomes.filter((each) => each === "created")).to.have.lengthOf(1);
  });

  it("creates schemas concurrently, even if their statements create the same object", async () => {
    const clients = await Promise.all(Array.from({ length: 8 }, client));
    for (let round = 0; round < 8; round++) {
      const shared = `shared${round}`;
      await Promise.all(
        clients.map((each, index) =>
          ensureSchema(each, {
            name: `${shared}/${index}`,
            tables: { [`${shared}.t${index}`]: { id: "text" } },
            statements: [
              `create schema if not exists ${shared}`,
              `create table ${shared}.t${index} (id text)`,
            ],
          }),
        ),
      );
    }
  });

  it("runs inside the caller's transaction, and restores its settings", async () => {
    const error = await failure(
      withTransaction(pool, async (tx) => {
        await tx.query("set local lock_timeout = '7s'");
        expect(await ensureSchema(tx, shelf("inside"))).to.equal("created");
        const { rows } = await tx.query("select current_setting('lock_timeout') as value");
        expect(rows).to.deep.equal([{ value: "7s" }]);
        throw new Error("undo");
      }),
    );
    expect(error.message).to.equal("undo");
    expect(await columns("inside")).to.deep.equal([]);
  });

  for (const [wrong, message] of [
    [{ name: "" }, "name must be a string"],
    [{ statements: [] }, "statements must be a list of at least one statement"],
    [{ statements: [""] }, "statements must be a list of at least one statement"],
    [{ tables: undefined }, "set tables, relations or isPresent, which describe the schema"],
    [{ isPresent: 1 }, "isPresent must be a query"],
    [{ needs: [] }, "needs must be a list of at least one string"],
    [{ lockTimeoutMs: -1 }, "lockTimeoutMs must be a whole number of at least 0; it is -1"],
    [{ lockTimeout: 1 }, "lockTimeout is unknown"],
    [{ tables: { "a.b.c": {} } }, "it must be name or schema.name"],
    [{ tables: { t: { id: 5 } } }, "tables.t.id must be a type or a list of types"],
  ] as const) {
    it(`rejects ${JSON.stringify(wrong)}`, async () => {
      const options = { name: "wrong", tables: { t: {} }, statements: ["select 1"], ...wrong };
      const error = await failure(ensureSchema(pool, options as never));
      expect(error.message).to.contain(message);
      if (message.startsWith("it must be")) return;
      expect(error).to.be.instanceOf(OptionError);
    });
  }
});

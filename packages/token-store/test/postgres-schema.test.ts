import { openTestLogin, testDatabase, testPgBouncer } from "@svc/dev-services";
import { ConfigurationError } from "@svc/options";
import { SchemaError, sqlStateOf } from "@svc/sql";
import { rejection } from "@svc/test-support";
import { createPostgresTokenStore, tokenStoreStatements } from "@svc/token-store/postgres";
import { expect } from "chai";
import { openPool, openStore } from "./support/postgres.ts";
import { again, presented, successor } from "./support/presentations.ts";

const { signal } = new AbortController();

describe("the table of the PostgreSQL token store", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "token-store-schema" });

  it("is created once by sixteen stores that start concurrently, and is not changed later", async () => {
    const pool = openPool(database.url);
    const made = await Promise.all(
      Array.from({ length: 16 }, () =>
        createPostgresTokenStore({ db: pool, table: "made", timeoutMs: 15_000 }).ensureSchema(),
      ),
    );
    expect(made.filter((each) => each === "created")).to.have.lengthOf(1);
    expect(
      await createPostgresTokenStore({ db: pool, table: "made", timeoutMs: 15_000 }).ensureSchema(),
    ).to.equal("present");
    await pool.end();
  });

  it("can be created by a migration, in another schema and under another name", async () => {
    const pool = openPool(database.url);
    await pool.query("create schema if not exists auth");
    for (const statement of tokenStoreStatements("auth.Marks")) await pool.query(statement);
    for (const statement of tokenStoreStatements("auth.Marks")) await pool.query(statement);
    const store = createPostgresTokenStore({ db: pool, table: "auth.Marks", timeoutMs: 15_000 });
    expect(await store.ensureSchema()).to.equal("present");
    const token = presented();
    expect(await store.rotate(token)).to.equal("rotated");
    expect(await store.rotate(again(token))).to.equal("raced");
    await pool.end();
  });

  it("is named svc_auth_marks by default", () => {
    expect(tokenStoreStatements()[0]).to.match(/^create table if not exists "svc_auth_marks"/);
  });

  it("is rejected and not altered if a column is missing or of another type, or the key is not unique", async () => {
    const pool = openPool(database.url);
    await pool.query("create table columns (key text primary key, nonce int, deadline timestamptz)");
    const columns = createPostgresTokenStore({ db: pool, table: "columns", timeoutMs: 15_000 });
    expect(await rejection(columns.ensureSchema()))
      .to.be.instanceOf(SchemaError)
      .with.property("faults")
      .that.deep.equals([
        "columns.nonce must be text; it is integer",
        "columns.expires_at is missing; it must be timestamptz",
      ]);
    await pool.query(
      "create table twice (key text not null, nonce text, deadline timestamptz, expires_at timestamptz not null)",
    );
    const twice = createPostgresTokenStore({ db: pool, table: "twice", timeoutMs: 15_000 });
    const fault = await rejection(twice.ensureSchema());
    expect(fault).to.be.instanceOf(SchemaError);
    expect(fault.message).to.include("twice needs a primary key or unique index on key alone");
    const { rows } = await pool.query("select indexname from pg_indexes where tablename = 'twice'");
    expect(rows).to.deep.equal([]);
    await pool.end();
  });

  it("is rejected if its columns reject null or its key ignores case, because sign-outs would fail", async () => {
    const pool = openPool(database.url);
    const rest = "deadline timestamptz, expires_at timestamptz not null";
    await pool.query(
      "create collation caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
    );
    await pool.query(`create table filled (key text primary key, nonce text not null, ${rest})`);
    await pool.query(`create table folded (key text collate caseless primary key, nonce text, ${rest})`);
    for (const [table, fault] of [
      ["filled", "nonce, deadline of filled must be nullable"],
      ["folded", "folded needs a primary key or unique index on key alone, with a deterministic collation"],
    ] as const) {
      const error = await rejection(
        createPostgresTokenStore({ db: pool, table, timeoutMs: 15_000 }).ensureSchema(),
      );
      expect(error).to.be.instanceOf(SchemaError);
      expect(error["faults"]).to.deep.equal([fault]);
    }
    await pool.end();
  });

  it("needs only the privileges to select, insert, update and delete (REF-18)", async () => {
    await using owner = await openStore(database.url, { table: "lent" });
    await using login = await openTestLogin({
      url: database.url,
      grants: ["grant select, insert, update, delete on lent to login"],
    });
    await using bench = await openStore(login.url, { table: "lent" });
    const { store } = bench;
    expect(await store.ensureSchema()).to.equal("present");
    const token = presented({ graceSeconds: 0 });
    expect(await store.rotate(token)).to.equal("rotated");
    expect(await store.rotate(again(token))).to.equal("replayed");
    await store.revoke("one", 60);
    await store.revokeFamily("one", 60);
    await store.revokeSubject("one", 1, 60);
    expect(await store.isRevoked(successor(token))).to.equal(true);
    await owner.pool.query("update lent set expires_at = now() - interval '1 second'");
    expect(await store.sweep()).to.equal(5);
    expect(await store.readiness().check(signal)).to.deep.equal({ healthy: true, detail: "connected" });
    const missing = createPostgresTokenStore({ db: bench.pool, table: "not_lent", timeoutMs: 15_000 });
    expect(sqlStateOf(await rejection(missing.ensureSchema()))).to.equal("42501");
  });

  describe("through PgBouncer in transaction mode", () => {
    const pgBouncer = testPgBouncer();

    it("lets a token rotate only once when two pools send it 32 times over three shared connections (REF-4, REF-5, REF-19)", async () => {
      await using login = await openTestLogin({
        url: database.url,
        grants: ["grant usage, create on schema public to login"],
      });
      await using bouncer = await pgBouncer.start(login.url, 3);
      await using a = await openStore(bouncer.url, { table: "pooled", timeoutMs: 10_000 });
      await using b = await openStore(bouncer.url, { table: "pooled", timeoutMs: 10_000 });
      for (let round = 0; round < 20; round++) {
        const token = presented();
        const results = await Promise.all(
          Array.from({ length: 32 }, (_, n) => (n % 2 === 0 ? a : b).store.rotate(again(token))),
        );
        expect(results.filter((result) => result === "rotated")).to.have.lengthOf(1);
        expect(results.filter((result) => result === "raced")).to.have.lengthOf(31);
        await a.store.revokeFamily(token.fam, 60);
        expect(await b.store.isRevoked(successor(token))).to.equal(true);
        expect(await b.store.rotate(successor(token))).to.equal("replayed");
      }
      const limit = await a.pool.query("show statement_timeout");
      expect(limit.rows, "no limit stays on a shared connection").to.deep.equal([{ statement_timeout: "0" }]);
    });
  });
});

describe("readiness of the PostgreSQL token store", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "token-store-ready" });

  it("reports a missing table, a missing column, and a database role without privileges on the table", async () => {
    const pool = openPool(database.url);
    const store = createPostgresTokenStore({ db: pool, name: "sessions", critical: true, timeoutMs: 15_000 });
    const readiness = store.readiness();
    expect(readiness).to.include({ name: "sessions", critical: true });
    expect(store.readiness()).to.equal(readiness);
    expect(await readiness.check(signal)).to.deep.equal({ healthy: false, detail: "its table is missing" });
    await store.ensureSchema();
    expect(await readiness.check(signal)).to.deep.equal({ healthy: true, detail: "connected" });
    await using login = await openTestLogin({ url: database.url });
    const other = openPool(login.url);
    const check = createPostgresTokenStore({ db: other, timeoutMs: 15_000 }).readiness();
    expect(check).to.include({ name: "token-store", critical: false });
    expect(await check.check(signal)).to.deep.equal({
      healthy: false,
      detail: "the database role has no SELECT privilege on the table",
    });
    await pool.query(`grant select on svc_auth_marks to ${login.name}`);
    expect(await check.check(signal)).to.deep.equal({
      healthy: false,
      detail: "the database role lacks the INSERT or UPDATE privilege on the table",
    });
    await other.end();
    await pool.query("create table drifted as select key, deadline, expires_at from svc_auth_marks");
    const drifted = createPostgresTokenStore({ db: pool, table: "drifted", timeoutMs: 15_000 }).readiness();
    expect(await drifted.check(signal)).to.deep.equal({ healthy: false, detail: "its table lacks a column" });
    await pool.end();
  });

  it("reports a read-only database on which nothing can be revoked (RDY-22)", async () => {
    await using bench = await openStore(database.url);
    const url = new URL(database.url);
    url.searchParams.set("options", "-c default_transaction_read_only=on");
    const pool = openPool(url.href);
    const store = createPostgresTokenStore({ db: pool, timeoutMs: 15_000 });
    expect(await store.readiness().check(signal)).to.deep.equal({
      healthy: false,
      detail: "the database is read only: nothing can be revoked",
    });
    expect(sqlStateOf(await rejection(store.revoke("one", 60)))).to.equal("25006");
    expect(await bench.store.isRevoked({ jti: "one", fam: undefined, sub: "a", signedInAt: 1 })).to.equal(
      false,
    );
    await pool.end();
  });

  it("shows neither the address nor the password of an unreachable server (RDY-22)", async () => {
    const pool = openPool("postgres://somebody:hunter2@127.0.0.1:1/none");
    const store = createPostgresTokenStore({ db: pool, timeoutMs: 15_000 });
    expect(await store.readiness().check(signal)).to.deep.equal({
      healthy: false,
      detail: "not answering (ECONNREFUSED)",
    });
    await pool.end();
  });
});

describe("the options of createPostgresTokenStore", () => {
  const db = { query: () => Promise.resolve({ rows: [] }) };

  it("are checked when the store is created", () => {
    const wrong: [Record<string, unknown>, RegExp][] = [
      [{ db: undefined }, /db: is required and must be a pool or a connection/],
      [{ db: "postgres://user:hunter2@host/db" }, /db: must be a pool or a connection/],
      [{ table: "a.b.c" }, /table: must be a name of at most 48 bytes, or schema\.name/],
      [{ table: "x".repeat(49) }, /table: must be a name of at most 48 bytes/],
      [{ table: "" }, /table: must be a non-empty string/],
      [{ name: "a b" }, /name: must be 1 to 64 letters/],
      [{ timeoutMs: 0 }, /timeoutMs: must be a number from 10/],
      [{ sweepBatch: 0 }, /sweepBatch: must be a whole number from 1/],
      [{ sweepEverySeconds: -1 }, /sweepEverySeconds: must be a number from 0/],
      [{ breakerFailures: 0 }, /breakerFailures: must be a whole number of at least 1/],
      [{ tabel: "x" }, /tabel: is unknown; did you mean table\?/],
    ];
    for (const [options, message] of wrong) {
      expect(() => createPostgresTokenStore({ db, ...options })).to.throw(ConfigurationError, message);
    }
  });

  it("accept a connection, a pool and an object that only provides connections; the store sends nothing before its first call", () => {
    const fail = (): never => {
      throw new Error("too early");
    };
    for (const each of [{ query: fail }, { connect: fail }, { query: fail, connect: fail }]) {
      expect(createPostgresTokenStore({ db: each })).to.have.property("rotate");
    }
  });
});

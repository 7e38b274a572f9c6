import { createDatabase, type Database, enableRowSecurity, TenantError } from "@svc/database";
import { testDatabase } from "@svc/dev-services";
import { type Queryable, sqlStateOf, withTransaction } from "@svc/sql";
import { badTenantIds, collectingLogger, goodTenantIds, rejection, until } from "@svc/test-support";
import { expect } from "chai";
import { type Login, makeLogin } from "./support/login.ts";
import { PATIENT } from "./support/patient.ts";
import { problem } from "./support/problem.ts";

describe("withTenant", () => {
  let login: Login;
  let db: Database;
  // Registered first, so that it runs before the database is dropped.
  after(async () => {
    await db.stop();
    await login.drop();
  });
  const postgres = testDatabase({ name: "tenant" });
  before(async () => {
    login = await makeLogin(postgres.url);
    // Set statementTimeoutMs longer than any pause of a slow machine.
    db = createDatabase({ url: login.url, max: 1, statementTimeoutMs: 3000 });
    await db.query("create table items (tenant_id text not null, id int generated always as identity)");
    await enableRowSecurity(db, { table: "items" });
    for (const tenant of ["acme", "globex", "globex"])
      await db.withTenant(tenant, (tx) => insert(tx, tenant));
  });

  const insert = (tx: Queryable, tenant: string): Promise<unknown> =>
    tx.query("insert into items (tenant_id) values ($1)", [tenant]);
  const tenants = async (on: Queryable): Promise<unknown[]> =>
    (await on.query("select tenant_id from items")).rows.map((row) => row["tenant_id"]);
  const pid = async (on: Queryable): Promise<unknown> =>
    (await on.query("select pg_backend_pid() as pid")).rows[0]?.["pid"];
  /** Returns whether the client gave up on a statement before the server cancelled it, as happens on a slow machine. */
  const isGivenUp = (fault: unknown): boolean =>
    ((fault as Error | undefined)?.cause as Error | undefined)?.message === "Query read timeout";
  /** Expects that the next user of the only connection sees no tenant. */
  async function expectNothingLeft(of: Database = db): Promise<void> {
    const { rows } = await of.query("select current_setting('svc' || '.ten' || 'ant', true) as left_over");
    expect(rows[0]?.["left_over"]).to.be.oneOf([null, ""]);
    expect(await tenants(of)).to.deep.equal([]);
  }

  it("sees and writes only its tenant's rows, and returns the function's result", async () => {
    expect(await db.withTenant("acme", tenants)).to.deep.equal(["acme"]);
    expect(await db.withTenant("globex", tenants)).to.deep.equal(["globex", "globex"]);
    expect(await db.withTenant("nobody", tenants)).to.deep.equal([]);
    const foreign = await rejection(db.withTenant("acme", (tx) => insert(tx, "globex")));
    expect(sqlStateOf(foreign)).to.equal("42501");
    await expectNothingLeft();
  });

  it("takes no more round trips than a transaction", async () => {
    const texts: string[] = [];
    await using counted = createDatabase({ url: login.url, max: 1 });
    counted.pool.on("connect", (client) => {
      const send = client.query.bind(client) as (...values: unknown[]) => unknown;
      client.query = ((text: string, ...rest: unknown[]) => {
        texts.push(text);
        return send(text, ...rest);
      }) as typeof client.query;
    });
    await counted.withTenant("o'neil", (tx) => tx.query("select 1"), { readOnly: true });
    expect(texts).to.deep.equal([
      `begin read only; set local "svc"."tenant" = 'o''neil'`,
      "select 1",
      'commit; reset "svc"."tenant"',
    ]);
  });

  for (const [what, tenant] of [
    ["undefined", undefined],
    ["null", null],
    ["a number", 7],
    ["empty", ""],
    ["white space", " \t"],
    ["too long", "a".repeat(256)],
    ["text with NUL", "a\0b"],
    ["text with a line break", "a\nb"],
    ["text with a lone surrogate", "a\ud800"],
    ...Object.entries(badTenantIds).map(([what, tenant]) => [`${what} (AUTH-39)`, tenant] as const),
  ] as const) {
    it(`rejects a tenant that is ${what}, before it takes a connection`, async () => {
      await using fresh = createDatabase({ url: login.url });
      const error = await rejection(fresh.withTenant(tenant as string, () => expect.fail("it ran")));
      expect(error).to.be.instanceOf(TenantError).with.property("code", "ERR_SVC_DATABASE_TENANT");
      expect(fresh.pool.totalCount).to.equal(0);
    });
  }

  it("accepts every tenant id, and shows only that tenant's rows (AUTH-39)", async () => {
    for (const tenant of goodTenantIds.filter((each) => each !== "acme")) {
      await db.withTenant(tenant, (tx) => insert(tx, tenant));
      expect(await db.withTenant(tenant, tenants)).to.deep.equal([tenant]);
    }
  });

  it("rejects a nested call for any tenant, but not a call on another database", async () => {
    await using other = createDatabase({ url: login.url });
    for (const tenant of ["acme", "globex"]) {
      const error = await rejection(db.withTenant("acme", () => db.withTenant(tenant, tenants)));
      expect(error).to.be.instanceOf(TenantError);
      expect(error.message).to.contain("inside another withTenant()");
    }
    const through = await rejection(
      db.withTenant("acme", () => other.withTenant("globex", () => db.withTenant("acme", tenants))),
    );
    expect(through).to.be.instanceOf(TenantError);
    const both = await db.withTenant("acme", async (tx) => [
      await other.withTenant("globex", tenants),
      await tenants(tx),
    ]);
    expect(both).to.deep.equal([["globex", "globex"], ["acme"]]);
  });

  it("allows a call in asynchronous work that outlives the outer call", async () => {
    let end!: () => void;
    const ended = new Promise<void>((resolve) => (end = resolve));
    let later: Promise<unknown[]> | undefined;
    await db.withTenant("acme", () => {
      later = ended.then(() => db.withTenant("globex", tenants));
    });
    end();
    expect(await later).to.deep.equal(["globex", "globex"]);
  });

  it("keeps its tenant through rolled-back savepoints and through retries", async () => {
    await db.withTenant("acme", async (tx) => {
      await rejection(withTransaction(tx, (inner) => insert(inner, "globex")));
      expect(await tenants(tx)).to.deep.equal(["acme"]);
    });
    let runs = 0;
    const seen = await db.withTenant(
      "acme",
      async (tx) => {
        runs += 1;
        if (runs < 3) await tx.query("do $$ begin raise exception 'no' using errcode = '40001'; end $$");
        return tenants(tx);
      },
      { retries: 5, isolation: "serializable", settings: { lock_timeout: "1s" } },
    );
    expect([runs, seen]).to.deep.equal([3, ["acme"]]);
    const twice = await rejection(db.withTenant("acme", tenants, { settings: { "svc.tenant": "globex" } }));
    expect(twice).to.be.instanceOf(TenantError);
  });

  describe("leaves no setting on its connection", () => {
    const cases: [string, (tx: Queryable) => unknown][] = [
      ["returns", tenants],
      [
        "throws",
        () => {
          throw new Error("no");
        },
      ],
      ["runs a statement that fails", (tx) => tx.query("select 1/0")],
      ["catches a statement's error", (tx) => tx.query("select 1/0").catch(() => undefined)],
      ["runs a statement that takes too long", (tx) => tx.query("select pg_sleep(60)")],
      ["commits manually", (tx) => tx.query("commit")],
      ["rolls back manually", (tx) => tx.query("rollback")],
      ["begins a new transaction manually", (tx) => tx.query("commit; begin")],
      ["sets another tenant for the session", (tx) => tx.query("set svc.tenant = 'globex'")],
      [
        "sets another tenant through parameters",
        (tx) => tx.query("select set_config($1, $2, false)", ["svc.tenant", "globex"]),
      ],
      [
        "commits manually, sets another tenant and throws",
        async (tx) => {
          await tx.query("commit");
          await tx.query("set svc.tenant = 'globex'");
          throw new Error("no");
        },
      ],
    ];
    for (const [what, work] of cases) {
      it(`when the function ${what}`, async () => {
        const before = await until("the server has ended it, if not the function", async () => {
          const of = await pid(db);
          const fault = await db.withTenant("acme", work).catch((error: unknown) => error);
          return !isGivenUp(fault) && of;
        });
        await expectNothingLeft();
        expect(await pid(db), "the same connection").to.equal(before);
        expect(await db.withTenant("acme", tenants)).to.deep.equal(["acme"]);
      });
    }

    it("when the statement is cancelled, or the connection is lost", async () => {
      await using admin = createDatabase({ url: postgres.url });
      for (const end of ["pg_cancel_backend", "pg_terminate_backend"]) {
        const failed = await problem(
          db.withTenant("acme", async (tx) => {
            const running = tx.query("select pg_sleep(60)");
            running.catch(() => undefined);
            const own = `select pid from pg_stat_activity where datname = current_database()
              and query = 'select pg_sleep(60)' and state = 'active'`;
            const found = await until(
              "the statement runs",
              async () => (await admin.query(own)).rows[0]?.["pid"],
            );
            await admin.query(`select ${end}($1)`, [found]);
            await running;
          }),
        );
        expect(failed.status).to.equal(503);
        await expectNothingLeft();
        expect(await db.withTenant("acme", tenants)).to.deep.equal(["acme"]);
      }
    });
  });

  describe("rejects other ways to set the tenant:", () => {
    // Passes an object where the types require text, as plain JavaScript and data mappers do.
    const object = (config: object): string => config as never;
    const sets: [string, (on: Database) => Promise<unknown>][] = [
      ["a SET statement", (on) => on.query("set svc.tenant = 'acme'")],
      ["SET with mixed case and spaces", (on) => on.query(`SET SESSION "svc" . "Tenant" TO acme`)],
      ["a SET statement after another statement", (on) => on.query("select 1; set svc.tenant to acme")],
      ["set_config()", (on) => on.query("select set_config('svc.tenant', 'acme', false)")],
      ["set_config($1, ...)", (on) => on.query("select Set_Config ($1, $2, false)", ["SVC.tenant", "acme"])],
      ["a query object with a SET statement", (on) => on.query(object({ text: "set svc.tenant = 'acme'" }))],
      [
        "a query object with set_config($1, ...)",
        (on) => on.query(object({ text: "select set_config($1, 'acme', false)", values: ["svc.tenant"] })),
      ],
      ["SET in a transaction", (on) => on.transaction((tx) => tx.query("set local svc.tenant = 'acme'"))],
      [
        "a SET statement on a connection from connect()",
        async (on) => {
          const lent = await on.connect();
          try {
            await lent.query("set svc.tenant = 'acme'");
          } finally {
            lent.release();
          }
        },
      ],
    ];
    for (const [what, set] of sets) {
      it(what, async () => {
        const error = await rejection(set(db));
        expect(error).to.be.instanceOf(TenantError);
        expect(error.message).to.equal("only withTenant() may set svc.tenant");
        await expectNothingLeft();
      });
    }
  });

  it("closes a connection after a statement outside withTenant set the tenant in an undetected way", async () => {
    const before = await pid(db);
    await db.query("do $$ begin set svc.tenant = 'acme'; end $$");
    await expectNothingLeft();
    expect(await pid(db)).not.to.equal(before);
  });

  it("ignores settings with other names, and statements that do not name the setting", async () => {
    const before = await pid(db);
    await db.query("select set_config('lock_timeout', '1s', false), 'tenant', 'svc'");
    await db.query("reset lock_timeout");
    await db.query("select $1::text", ["set svc.tenant = 'sent by a client'"]);
    expect(await pid(db)).to.equal(before);
  });

  it("overrides a tenant that a data mapper has set on the pool for the session", async () => {
    await using mapped = createDatabase({ url: login.url, max: 1 });
    await mapped.pool.query("set svc.tenant = 'globex'");
    expect(await mapped.withTenant("acme", tenants)).to.deep.equal(["acme"]);
    // The end of the transaction resets the session's setting as well.
    await expectNothingLeft(mapped);
  });

  it("lets a login that does not own the tables check row security, but not create it", async () => {
    const guest = await makeLogin(postgres.url);
    try {
      await db.query(`create table guarded (tenant_id text not null);
        grant select on items, guarded to public`);
      await using guests = createDatabase({ url: guest.url });
      expect(await guests.withTenant("acme", tenants)).to.deep.equal(["acme"]);
      expect(await tenants(guests)).to.deep.equal([]);
      expect(await enableRowSecurity(guests, { table: "items" })).to.equal("present");
      const error = await rejection(enableRowSecurity(guests, { table: "guarded" }));
      expect(sqlStateOf(error)).to.equal("42501");
    } finally {
      await guest.drop();
    }
  });

  it("uses the setting that tenantSetting names", async () => {
    await using named = createDatabase({ url: login.url, tenantSetting: "app.customer" });
    await named.query("create table named (tenant_id text not null)");
    await enableRowSecurity(named, { table: "named", setting: "app.customer" });
    await named.withTenant("acme", (tx) => tx.query("insert into named values ('acme')"));
    const count = async (on: Database): Promise<number> =>
      on.withTenant("acme", async (tx) => (await tx.query("select 1 from named")).rows.length);
    expect([await count(named), await count(db)]).to.deep.equal([1, 0]);
  });

  describe("readiness check", () => {
    const ask = async (of: Database): Promise<object> => of.readiness().check(new AbortController().signal);
    const pool = { total: 0, idle: 0, waiting: 0, max: 10 };

    it("does not mention row security in services that do not use it", async () => {
      await using plain = createDatabase({ url: postgres.url, ...PATIENT });
      expect(await ask(plain)).to.deep.equal({ healthy: true, detail: "connected", meta: pool });
      await using off = createDatabase({ url: postgres.url, rowSecurity: false, ...PATIENT });
      await off.withTenant("acme", () => undefined);
      expect(await ask(off)).to.include({ healthy: true, detail: "connected" });
    });

    it("after the first withTenant(), reports a superuser that bypasses row security, stays healthy, and logs once", async () => {
      const logger = collectingLogger();
      await using passing = createDatabase({ url: postgres.url, logger, ...PATIENT });
      await passing.withTenant("acme", () => undefined);
      for (let i = 0; i < 3; i++) {
        expect(await ask(passing)).to.deep.equal({
          healthy: true,
          detail: "connected; the database role bypasses row security",
          meta: { ...pool, total: 1, idle: 1, row_security: "bypassed" },
        });
      }
      expect(logger.texts).to.have.lengthOf(1);
      expect(logger.texts[0]).to.match(/^warn the database role bypasses row security/);
    });

    it("with rowSecurity: true, reports a login with BYPASSRLS from the first check, and no other login", async () => {
      const bypassing = await makeLogin(postgres.url, "nosuperuser bypassrls");
      try {
        await using passing = createDatabase({ url: bypassing.url, rowSecurity: true, ...PATIENT });
        expect(await ask(passing)).to.deep.equal({
          healthy: true,
          detail: "connected; the database role bypasses row security",
          meta: { ...pool, row_security: "bypassed" },
        });
        expect((await passing.query("select 1")).rows).to.have.lengthOf(1);
      } finally {
        await bypassing.drop();
      }
      await using held = createDatabase({ url: login.url, rowSecurity: true, ...PATIENT });
      expect(await ask(held)).to.deep.equal({
        healthy: true,
        detail: "connected",
        meta: { ...pool, row_security: "enforced" },
      });
    });
  });
});

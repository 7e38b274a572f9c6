import { createDatabase } from "@svc/database";
import { testDatabase } from "@svc/dev-services";
import type { QueryResult, Row } from "@svc/sql";
import { until } from "@svc/test-support";
import { createPostgresTokenStore } from "@svc/token-store/postgres";
import { expect } from "chai";
import { Pool } from "pg";
import { hold, holdToken, openPool, openStore, waiter } from "./support/postgres.ts";
import { again, presented, successor } from "./support/presentations.ts";

const ROUNDS = 50;
const CONNECTIONS = 16;

describe("createPostgresTokenStore", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "token-store" });

  it("dates a sign-in by the server's clock, not the caller's (REV-10)", async () => {
    await using bench = await openStore(database.url);
    const seconds = async (): Promise<number> => {
      const { rows } = await bench.pool.query(
        "select floor(extract(epoch from clock_timestamp()))::int as at",
      );
      return Number((rows[0] as { readonly at?: unknown }).at);
    };
    for (const nowSeconds of [0, 4e9]) {
      const from = await seconds();
      const began = await bench.store.signInTime("dated", nowSeconds);
      expect(began).to.be.within(from, await seconds());
    }
  });

  it("ignores an expired sign-out, even if its row still exists (REV-10)", async () => {
    await using bench = await openStore(database.url, { table: "svc_old_moments" });
    const ahead = (await bench.store.signInTime("ann", 0)) + 1000;
    await bench.store.revokeSubject("ann", ahead, 600);
    expect(await bench.store.signInTime("ann", 0)).to.equal(ahead);
    await bench.pool.query("update svc_old_moments set expires_at = now() - interval '1 second'");
    expect(await bench.store.signInTime("ann", 0)).to.be.below(ahead);
    expect(await bench.store.revokeSubjectNow("ann", 0, 600)).to.be.below(ahead);
  });

  it("rotates a token once when two pools send it 32 times concurrently, and reports the other 31 as raced (REF-4, REF-5, REF-19)", async () => {
    await using a = await openStore(database.url);
    await using b = await openStore(database.url);
    for (let round = 0; round < ROUNDS; round++) {
      const token = presented();
      const results = await Promise.all(
        Array.from({ length: 2 * CONNECTIONS }, (_, n) => (n % 2 === 0 ? a : b).store.rotate(again(token))),
      );
      const raced = results.filter((result) => result === "raced");
      expect(raced).to.have.lengthOf(2 * CONNECTIONS - 1);
      expect(results).to.include("rotated");
      expect(await b.store.isRevoked(successor(token)), "nothing is revoked by it").to.equal(false);
    }
  });

  it("reports a used token as replayed each time when it is sent 32 times concurrently after the window, and ends the family (REF-6, REF-7)", async () => {
    await using a = await openStore(database.url);
    await using b = await openStore(database.url);
    const token = presented({ graceSeconds: 0 });
    expect(await a.store.rotate(token)).to.equal("rotated");
    const results = await Promise.all(
      Array.from({ length: 2 * CONNECTIONS }, (_, n) => (n % 2 === 0 ? a : b).store.rotate(again(token))),
    );
    expect(new Set(results)).to.deep.equal(new Set(["replayed"]));
    expect(await b.store.isRevoked(successor(token))).to.equal(true);
    expect(await a.store.rotate(successor(token))).to.equal("replayed");
  });

  it("writes only the revocation of the family for replays, and only once (REF-7)", async () => {
    await using bench = await openStore(database.url, { table: "svc_replays" });
    const token = presented({ graceSeconds: 0 });
    await bench.store.rotate(token);
    await bench.store.rotate(again(token));
    const select =
      "select key, nonce, deadline, expires_at, xmin::text, xmax::text from svc_replays order by key";
    const before = await bench.pool.query(select);
    expect(before.rows).to.have.lengthOf(2);
    for (let n = 0; n < 5; n++) expect(await bench.store.rotate(again(token))).to.equal("replayed");
    expect((await bench.pool.query(select)).rows).to.deep.equal(before.rows);
  });

  it("writes nothing for a used token within the window (REF-7)", async () => {
    await using bench = await openStore(database.url, { table: "svc_races" });
    const token = presented();
    await bench.store.rotate(token);
    const select = "select key, nonce, deadline, expires_at, xmin::text, xmax::text from svc_races";
    const before = await bench.pool.query(select);
    expect(before.rows).to.have.lengthOf(1);
    for (let n = 0; n < 5; n++) expect(await bench.store.rotate(again(token))).to.equal("raced");
    expect((await bench.pool.query(select)).rows).to.deep.equal(before.rows);
  });

  it("ends a session in the stores on both pools when it is revoked at any point during refreshes (REF-8, REV-11)", async () => {
    await using a = await openStore(database.url);
    await using b = await openStore(database.url);
    for (let round = 0; round < ROUNDS; round++) {
      const token = presented();
      const calls: (() => Promise<unknown>)[] = [
        () => a.store.rotate(token),
        () => b.store.rotate(again(token)),
        () => a.store.rotate(successor(token)),
        () => a.store.rotate(again(token)),
        () => b.store.rotate(successor(token)),
      ];
      calls.splice(round % (calls.length + 1), 0, () => b.store.revokeFamily(token.fam, 3600));
      await Promise.all(calls.map((call) => call()));
      for (const { store } of [a, b]) {
        expect(await store.isRevoked(successor(token))).to.equal(true);
        expect(await store.rotate(successor(token))).to.equal("replayed");
        expect(await store.rotate(token), "the winner's own request").to.equal("replayed");
      }
    }
  });

  it("revokes the tokens of a rotation that began before the logout and ends after it (REF-8)", async () => {
    await using bench = await openStore(database.url);
    const token = presented();
    await using holder = await holdToken(database.url, token.jti);
    const rotation = bench.store.rotate(token);
    await waiter(bench.pool);
    await bench.store.revokeFamily(token.fam, 3600);
    await holder.end();
    expect(await rotation).to.be.oneOf(["rotated", "replayed"]);
    expect(await bench.store.isRevoked(successor(token))).to.equal(true);
    expect(await bench.store.rotate(successor(token))).to.equal("replayed");
  });

  it("decides between raced and replayed at the time when the wait for the first request ends (REF-5, REF-14)", async () => {
    await using bench = await openStore(database.url, { timeoutMs: 10_000 });
    for (const [deadline, result] of [
      ["1 hour", "raced"],
      ["1 millisecond", "replayed"],
    ] as const) {
      const token = presented({ graceSeconds: 600 });
      await using holder = await hold(
        database.url,
        "insert into svc_auth_marks values ($1, '=other', clock_timestamp() + $2::interval, now() + '1 hour')",
        [`jti:${token.jti}`, deadline],
      );
      const rotation = bench.store.rotate(token);
      await waiter(bench.pool);
      await holder.client.query("select pg_sleep(0.01)");
      await holder.end("commit");
      expect(await rotation).to.equal(result);
    }
  });

  it("ignores the clock of the service (REF-14)", async () => {
    await using bench = await openStore(database.url);
    const token = presented({ graceSeconds: 600 });
    const real = Date.now;
    try {
      Date.now = () => real() - 1e12;
      expect(await bench.store.rotate(token)).to.equal("rotated");
      Date.now = () => real() + 1e12;
      expect(await bench.store.rotate(again(token))).to.equal("raced");
      for (const off of [-1e9, 1e9]) {
        Date.now = () => real() + off;
        const started = createPostgresTokenStore({ db: bench.pool, timeoutMs: 10_000 });
        expect(await started.rotate(again(token))).to.equal("raced");
        expect(await started.rotate(presented())).to.equal("rotated");
      }
      await bench.store.revoke(token.jti, 60);
      Date.now = real;
      expect(await bench.store.isRevoked(token)).to.equal(true);
    } finally {
      Date.now = real;
    }
  });

  for (const isolation of ["repeatable read", "serializable"]) {
    it(`rotates a token once with ${isolation} as the default isolation level (REF-19)`, async () => {
      const options = `-c default_transaction_isolation=${isolation.replace(" ", "\\ ")}`;
      const pool = new Pool({ connectionString: database.url, max: CONNECTIONS, options });
      try {
        const store = createPostgresTokenStore({ db: pool, timeoutMs: 10_000 });
        await store.ensureSchema();
        const { rows } = await pool.query("show transaction_isolation");
        expect(rows).to.deep.equal([{ transaction_isolation: isolation }]);
        for (let round = 0; round < 5; round++) {
          const token = presented();
          const calls = Array.from({ length: CONNECTIONS }, () => store.rotate(again(token)));
          const results = await Promise.all(calls);
          expect(results.filter((result) => result === "rotated")).to.have.lengthOf(1);
          expect(results.filter((result) => result === "raced")).to.have.lengthOf(CONNECTIONS - 1);
        }
      } finally {
        await pool.end();
      }
    });
  }

  it("sends one statement per check, rotation and deletion, and each statement uses an index (REV-1)", async () => {
    await using bench = await openStore(database.url, { table: "svc_plans" });
    await bench.pool.query(
      `insert into svc_plans select 'jti:' || n, '=n', now(), now() + n * interval '1 second' from generate_series(1, 20000) n`,
    );
    await bench.pool.query("vacuum analyze svc_plans");
    const sent: string[] = [];
    const recording = {
      query<R extends Row>(text: string): Promise<QueryResult<R>> {
        sent.push(text);
        return bench.pool.query(text) as Promise<QueryResult<R>>;
      },
    };
    const store = createPostgresTokenStore({
      db: recording,
      table: "svc_plans",
      sweepEverySeconds: 0,
      timeoutMs: 15_000,
    });
    await store.isRevoked(presented());
    await store.rotate(presented());
    await store.sweep();
    expect(sent, "one round trip each").to.have.lengthOf(3);
    for (const text of sent) {
      const statement = text.slice(text.lastIndexOf(";") + 1);
      const { rows } = await bench.pool.query(`explain (format json) ${statement}`);
      const plan = JSON.stringify(rows);
      expect(plan).to.match(/"Index (Only )?Scan"/);
      expect(plan).not.to.include('"Seq Scan"');
    }
    expect(sent[0]?.match(/select/g)).to.have.lengthOf(2);
  });

  it("deletes only expired rows, in batches (REV-2)", async () => {
    await using bench = await openStore(database.url, { table: "svc_swept", sweepBatch: 500 });
    const token = presented();
    await bench.store.rotate(token);
    await bench.store.revokeFamily(token.fam, 60);
    await over(bench.pool, "svc_swept", 1200);
    expect(await bench.store.sweep()).to.equal(1200);
    expect(await bench.store.sweep()).to.equal(0);
    expect(await count(bench.pool, "svc_swept")).to.equal(2);
  });

  it("deletes expired rows on two replicas concurrently during rotations (REV-2)", async () => {
    await using a = await openStore(database.url, { table: "svc_busy", sweepBatch: 100 });
    await using b = await openStore(database.url, { table: "svc_busy", sweepBatch: 100 });
    await over(a.pool, "svc_busy", 3000);
    // A token whose earlier use has expired can be rotated again, even while its row is being deleted.
    const tokens = Array.from({ length: 200 }, (_, n) => presented({ jti: String(n + 1) }));
    const [first, second, ...results] = await Promise.all([
      a.store.sweep(),
      b.store.sweep(),
      ...tokens.map((token, n) => (n % 2 === 0 ? a : b).store.rotate(token)),
    ]);
    expect(new Set(results)).to.deep.equal(new Set(["rotated"]));
    expect(first + second + (await a.store.sweep())).to.be.within(2800, 3000);
    expect(await count(a.pool, "svc_busy")).to.equal(tokens.length);
    for (const token of tokens) expect(await b.store.rotate(again(token))).to.equal("raced");
  });

  it("neither waits for nor deletes a row that another transaction is renewing (REV-2)", async () => {
    await using bench = await openStore(database.url, { table: "svc_renewed" });
    await over(bench.pool, "svc_renewed", 10);
    await using holder = await hold(
      database.url,
      "update svc_renewed set expires_at = now() + interval '1 hour' where key = 'jti:7'",
    );
    expect(await bench.store.sweep()).to.equal(9);
    await holder.end("commit");
    expect(await bench.store.sweep()).to.equal(0);
    expect(await count(bench.pool, "svc_renewed")).to.equal(1);
  });

  it("keeps the duration of a logout when a replay revokes the same session (REF-6, REV-9)", async () => {
    await using bench = await openStore(database.url, { table: "svc_met" });
    const token = presented({ graceSeconds: 0 });
    await bench.store.rotate(token);
    await using holder = await hold(
      database.url,
      "insert into svc_met (key, expires_at) values ($1, 'infinity')",
      [`fam:${token.fam}`],
    );
    const replay = bench.store.rotate(again(token));
    await waiter(bench.pool);
    await holder.end("commit");
    expect(await replay).to.equal("replayed");
    const { rows } = await bench.pool.query("select expires_at::text from svc_met where key like 'fam:%'");
    expect(rows).to.deep.equal([{ expires_at: "infinity" }]);
  });

  it("deletes expired rows after a write, and waits for the deletion in stop() (REV-2)", async () => {
    await using bench = await openStore(database.url, {
      table: "svc_now_and_then",
      sweepEverySeconds: 0.001,
    });
    await over(bench.pool, "svc_now_and_then", 1200);
    await until("a write begins a deletion", async () => {
      await bench.store.revoke("one", 60);
      return (await count(bench.pool, "svc_now_and_then")) === 1;
    });
    // The last write may have started another deletion.
    await bench.store.stop();
    await over(bench.pool, "svc_now_and_then", 10);
    await bench.store.revoke("two", 60);
    await bench.store.stop();
    expect(await count(bench.pool, "svc_now_and_then"), "none begins after it").to.equal(12);
  });

  it("rotates and revokes tokens on a database of @svc/database (REF-18)", async () => {
    await using db = createDatabase({ url: database.url });
    await using store = createPostgresTokenStore({ db, table: "svc_on_database", timeoutMs: 15_000 });
    expect(await store.ensureSchema()).to.equal("created");
    const token = presented();
    expect(await store.rotate(token)).to.equal("rotated");
    expect(await store.rotate(again(token))).to.equal("raced");
    expect(await store.isRevoked(token)).to.equal(false);
    await store.revokeSubject(token.sub, token.signedInAt + 1, 60);
    expect(await store.isRevoked(token)).to.equal(true);
  });

  it("leaves its connection without a transaction and with an unchanged statement_timeout", async () => {
    const pool = openPool(database.url, 1);
    try {
      const store = createPostgresTokenStore({ db: pool, timeoutMs: 15_000 });
      await store.ensureSchema();
      const before = await pool.query("show statement_timeout");
      await store.rotate(presented());
      expect((await pool.query("show statement_timeout")).rows).to.deep.equal(before.rows);
      const { rows } = await pool.query("select now() = statement_timestamp() as fresh");
      expect(rows).to.deep.equal([{ fresh: true }]);
    } finally {
      await pool.end();
    }
  });
});

async function over(pool: Pool, table: string, rows: number): Promise<void> {
  await pool.query(
    `insert into ${table} (key, nonce, deadline, expires_at)
     select 'jti:' || n, '=old', now() - interval '1 day', now() - interval '1 hour' from generate_series(1, $1) n`,
    [rows],
  );
}

async function count(pool: Pool, table: string): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(`select count(*)::int as n from ${table}`);
  return rows[0]?.n ?? -1;
}

import { testDatabase } from "@svc/dev-services";
import { BreakerOpenError, DeadlineError } from "@svc/resilience";
import { isConnectionError, type QueryResult, type Row, sqlStateOf, TransactionError } from "@svc/sql";
import { collectingLogger, rejection, until } from "@svc/test-support";
import { createPostgresTokenStore } from "@svc/token-store/postgres";
import { expect } from "chai";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { mock } from "node:test";
import { Client } from "pg";
import { hold, holdToken, noCallWaits, openPool, openStore, waiter } from "./support/postgres.ts";
import { again, presented, successor } from "./support/presentations.ts";

describe("createPostgresTokenStore when PostgreSQL fails", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "token-store-faults" });

  it("rejects with the database's error, and recovers, even if the logger throws", async () => {
    const fail = (): never => {
      throw new Error("the disk is full");
    };
    const logger = { debug: fail, info: fail, warn: fail, error: fail, fatal: fail };
    let away = true;
    const db = {
      async query<R extends Row>(): Promise<QueryResult<R>> {
        if (away) throw new Error("away");
        return { rows: [], rowCount: 0 };
      },
    };
    const options = { db, logger, breakerFailures: 1, breakerCoolDownMs: 0, sweepEverySeconds: 0 };
    await using store = createPostgresTokenStore(options);
    expect(await rejection(store.revoke("a", 1))).to.have.property("message", "away");
    away = false;
    await store.revoke("a", 1);
  });

  it("repeats a rotation whose backend is killed, and rotates the token only once (REF-4, REF-8)", async () => {
    await using bench = await openStore(database.url, { timeoutMs: 10_000 });
    const token = presented();
    await using holder = await holdToken(database.url, token.jti);
    const rotation = bench.store.rotate(token);
    const killed = await waiter(bench.pool);
    await bench.pool.query("select pg_terminate_backend($1)", [killed]);
    await waiter(bench.pool, killed);
    await holder.end();
    expect(await rotation).to.equal("rotated");
    expect(await bench.store.rotate(token), "the same request").to.equal("rotated");
    expect(await bench.store.rotate(again(token))).to.equal("raced");
  });

  it("rejects a rotation on a single connection that is killed, and does not use up the token (REF-4, REF-17)", async () => {
    await using bench = await openStore(database.url);
    const client = new Client({ connectionString: database.url });
    client.on("error", () => undefined);
    await client.connect();
    const store = createPostgresTokenStore({ db: client, timeoutMs: 10_000 });
    const token = presented();
    await using holder = await holdToken(database.url, token.jti);
    const rotation = rejection(store.rotate(token));
    await bench.pool.query("select pg_terminate_backend($1)", [await waiter(bench.pool)]);
    expect(isConnectionError(await rotation)).to.equal(true);
    await holder.end();
    expect(await bench.store.rotate(again(token))).to.equal("rotated");
  });

  it("rotates again for the request whose reply was lost, and reports another request as raced (REF-4)", async () => {
    await using bench = await openStore(database.url);
    let lost = 0;
    const db = {
      async connect() {
        const connection = await bench.pool.connect();
        return {
          async query<R extends Row>(text: string): Promise<QueryResult<R>> {
            const answer = await connection.query(text);
            if (lost++ > 0) return answer as QueryResult<Row> as QueryResult<R>;
            throw Object.assign(new Error("Connection terminated unexpectedly"), { code: "ECONNRESET" });
          },
          release: (error?: Error | boolean) => connection.release(error),
        };
      },
    };
    const store = createPostgresTokenStore({ db, timeoutMs: 15_000 });
    const token = presented();
    expect(await store.rotate(token)).to.equal("rotated");
    expect(lost, "sent twice").to.equal(2);
    expect(await bench.store.rotate(again(token))).to.equal("raced");
  });

  it("waits for a row lock only until the deadline, and does not use up the token (REF-17, REV-7)", async () => {
    await using bench = await openStore(database.url, { timeoutMs: 300 });
    const token = presented();
    await using holder = await holdToken(database.url, token.jti);
    expect(await rejection(bench.store.rotate(token))).to.satisfy(isTimeout);
    await noCallWaits(bench.pool);
    await holder.end();
    const patient = createPostgresTokenStore({ db: bench.pool, timeoutMs: 10_000 });
    expect(await patient.rotate(again(token))).to.equal("rotated");
  });

  for (const hours of [0, 1]) {
    it(`ignores a call that a hung server starts after the deadline, with the local clock ${hours} h ahead (REF-17, REV-10)`, async () => {
      await using bench = await openStore(database.url, { timeoutMs: 10_000 });
      let hangs: Promise<unknown> = Promise.resolve();
      const executed: Promise<unknown>[] = [];
      const db = {
        query<R extends Row>(text: string): Promise<QueryResult<R>> {
          // Remove the statement's own time limit, which would cancel it before the server compares its clock with the
          // deadline.
          const unlimited = text.replace(/statement_timeout = \d+/, "statement_timeout = 0");
          const answer = hangs.then(() => bench.pool.query(unlimited)) as Promise<QueryResult<R>>;
          executed.push(answer);
          return answer;
        },
      };
      const real = Date.now;
      Date.now = () => real() + hours * 3_600_000;
      try {
        const hasty = createPostgresTokenStore({ db, timeoutMs: 200 });
        await until("it has learned the server's clock", () =>
          hasty.rotate(presented()).then(
            () => true,
            () => false,
          ),
        );
        const token = presented();
        const used = presented({ graceSeconds: 0 });
        expect(await bench.store.rotate(used)).to.equal("rotated");
        const resumed = Promise.withResolvers<void>();
        hangs = resumed.promise;
        executed.length = 0;
        const refused = [again(token), again(used)].map((each) => rejection(hasty.rotate(each)));
        refused.push(rejection(hasty.revokeSubjectNow("ann", 0, 60)));
        for (const error of await Promise.all(refused)) expect(error).to.be.instanceOf(DeadlineError);
        // Let the deadline pass by the server's clock as well.
        await bench.pool.query("select pg_sleep(0.02)");
        resumed.resolve();
        await Promise.all(executed);
        expect(executed).to.have.lengthOf(3);
        const old = presented({ sub: "ann", signedInAt: 0 });
        expect(await bench.store.isRevoked(old), "nor is it a sign-out").to.equal(false);
        expect(await bench.store.rotate(again(token))).to.equal("rotated");
        expect(await bench.store.isRevoked(successor(used)), "nor is it a replay").to.equal(false);
      } finally {
        Date.now = real;
      }
    });
  }

  it("limits the statement on the server to the time left after the wait for a connection (REF-17, REV-7)", async () => {
    await using bench = await openStore(database.url);
    const sent: string[] = [];
    let ahead = 0;
    const real = performance.now.bind(performance);
    const clock = mock.method(performance, "now", () => real() + ahead);
    const db = {
      async connect() {
        // As if the wait took 10 s.
        ahead = 10_000;
        const connection = await bench.pool.connect();
        return {
          query<R extends Row>(text: string): Promise<QueryResult<R>> {
            sent.push(text);
            return connection.query(text) as Promise<QueryResult<Row>> as Promise<QueryResult<R>>;
          },
          release: (error?: Error | boolean) => connection.release(error),
        };
      },
    };
    try {
      const store = createPostgresTokenStore({ db, timeoutMs: 15_000 });
      expect(await store.rotate(presented())).to.equal("rotated");
    } finally {
      clock.mock.restore();
    }
    const limit = Number(/statement_timeout = (\d+)/.exec(sent[0] ?? "")?.[1]);
    expect(limit).to.be.within(1, 5000);
  });

  it("waits for a locked table only until the deadline (REV-7)", async () => {
    await using bench = await openStore(database.url, { timeoutMs: 300 });
    await using holder = await hold(database.url, "lock table svc_auth_marks in access exclusive mode");
    expect(await rejection(bench.store.isRevoked(presented()))).to.satisfy(isTimeout);
    await noCallWaits(bench.pool);
    await holder.end();
    const patient = createPostgresTokenStore({ db: bench.pool, timeoutMs: 10_000 });
    expect(await patient.isRevoked(presented())).to.equal(false);
  });

  it("stops calling a hung server after three failures, until the cool-down is over (REV-7, REV-8)", async () => {
    await using silent = await silentServer();
    const pool = openPool(silent.url);
    let now = 0;
    const logger = collectingLogger();
    const store = createPostgresTokenStore({ db: pool, timeoutMs: 100, logger, now: () => now });
    for (let n = 0; n < 3; n++) {
      expect(await rejection(store.isRevoked(presented()))).to.be.instanceOf(DeadlineError);
    }
    const { connections } = silent;
    await until("all have arrived", () => connections.size >= 3);
    expect(connections.size).to.equal(3);
    for (const call of [
      () => store.isRevoked(presented()),
      () => store.rotate(presented()),
      () => store.revoke("one", 60),
      () => store.revokeFamily("one", 60),
      () => store.revokeSubject("one", 1, 60),
      () => store.sweep(),
    ]) {
      expect(await rejection(call())).to.be.instanceOf(BreakerOpenError);
    }
    expect(connections.size).to.equal(3);
    now = 2000;
    expect(await rejection(store.isRevoked(presented()))).to.be.instanceOf(DeadlineError);
    await until("the trial has arrived", () => connections.size >= 4);
    expect(connections.size, "one trial").to.equal(4);
    expect(logger.texts).to.have.lengthOf(1);
    expect(logger.texts[0]).to.match(/^warn the token store is not answering/);
    expect(await store.readiness().check(new AbortController().signal)).to.deep.equal({
      healthy: false,
      detail: "no answer within 100 ms",
    });
    for (const socket of connections) socket.destroy();
  });

  it("sends one trial call after the cool-down, and then all calls (REV-8)", async () => {
    await using bench = await openStore(database.url);
    let down = true;
    let now = 0;
    const logger = collectingLogger();
    const db = {
      query<R extends Row>(text: string): Promise<QueryResult<R>> {
        if (down) return Promise.reject(Object.assign(new Error("no"), { code: "ECONNREFUSED" }));
        return bench.pool.query(text) as Promise<QueryResult<R>>;
      },
    };
    const store = createPostgresTokenStore({
      db,
      logger,
      now: () => now,
      timeoutMs: 15_000,
      breakerFailures: 1,
      breakerCoolDownMs: 500,
    });
    expect(isConnectionError(await rejection(store.isRevoked(presented())))).to.equal(true);
    down = false;
    expect(await rejection(store.isRevoked(presented()))).to.be.instanceOf(BreakerOpenError);
    now = 500;
    expect(await store.isRevoked(presented())).to.equal(false);
    expect(await store.rotate(presented())).to.equal("rotated");
    expect(logger.texts.map((line) => line.split(" {")[0])).to.deep.equal([
      "warn the token store is not answering; calls are rejected until the breaker allows a trial",
      "info the token store is answering again",
    ]);
  });

  it("keeps the breaker closed when the server reports an error, such as a missing table (REV-8)", async () => {
    const pool = openPool(database.url);
    const store = createPostgresTokenStore({ db: pool, table: "svc_not_there", timeoutMs: 15_000 });
    for (let n = 0; n < 5; n++) {
      expect(sqlStateOf(await rejection(store.isRevoked(presented())))).to.equal("42P01");
      expect(sqlStateOf(await rejection(store.rotate(presented())))).to.equal("42P01");
    }
    await pool.end();
  });

  it("closes a hanging connection at the deadline instead of reusing it (REV-7)", async () => {
    await using silent = await silentServer();
    const pool = openPool(silent.url);
    const store = createPostgresTokenStore({ db: pool, timeoutMs: 100 });
    await rejection(store.rotate(presented()));
    // The deadline may pass before the server sees the connection.
    await until("it has arrived", () => silent.connections.size > 0);
    for (const socket of silent.connections) socket.destroy();
    await until("the pool has let go of it", () => Promise.resolve(pool.totalCount === 0));
  });

  it("rejects a connection with an open transaction, which its owner could roll back (REF-8)", async () => {
    await using bench = await openStore(database.url);
    await using holder = await hold(database.url, "select 1");
    const store = createPostgresTokenStore({ db: holder.client, timeoutMs: 15_000 });
    for (const call of [
      () => store.rotate(presented()),
      () => store.revoke("one", 60),
      () => store.revokeFamily("one", 60),
      () => store.revokeSubject("one", 1, 60),
    ]) {
      const error = await rejection(call());
      expect(error).to.be.instanceOf(TransactionError);
      expect(error.message).to.match(/is in a transaction/);
    }
    await holder.client.query("rollback");
    const token = presented();
    expect(await store.rotate(token)).to.equal("rotated");
    expect(await bench.store.isRevoked(successor(token))).to.equal(false);
  });

  it("rejects a driver that does not return the result of the last statement", async () => {
    const db = { query: <R extends Row>(): Promise<QueryResult<R>> => Promise.resolve({ rows: [] }) };
    const store = createPostgresTokenStore({ db, timeoutMs: 15_000 });
    const message = "the driver does not return the result of the last of several statements";
    expect((await rejection(store.isRevoked(presented()))).message).to.equal(message);
    expect((await rejection(store.rotate(presented()))).message).to.equal(message);
  });

  it("logs a failed deletion and does not reject the call", async () => {
    await using bench = await openStore(database.url);
    const logger = collectingLogger();
    const db = {
      query<R extends Row>(text: string): Promise<QueryResult<R>> {
        return bench.pool.query(text.replace("delete from", "oops")) as Promise<QueryResult<R>>;
      },
    };
    const store = createPostgresTokenStore({ db, logger, sweepEverySeconds: 0.001, timeoutMs: 15_000 });
    await until("a deletion was tried", async () => {
      await store.revoke("one", 60);
      return logger.texts.length > 0;
    });
    await store.stop();
    expect(logger.texts.join("\n")).to.include("could not be deleted").and.to.include("SQLSTATE 42601");
  });
});

/**
 * Returns whether the server canceled the statement or the caller's deadline passed; on a busy machine either may be
 * first.
 */
function isTimeout(error: unknown): boolean {
  return sqlStateOf(error) === "57014" || error instanceof DeadlineError;
}

interface SilentServer extends AsyncDisposable {
  readonly url: string;
  readonly connections: Set<Socket>;
}

/** Starts a server that accepts connections and never responds. */
async function silentServer(): Promise<SilentServer> {
  const connections = new Set<Socket>();
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    connections.add(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `postgres://somebody@127.0.0.1:${port}/none`,
    connections,
    async [Symbol.asyncDispose]() {
      for (const socket of connections) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

import { rejection, until } from "@svc/test-support";
import { expect } from "chai";
import pg from "pg";
import { createTracing, tracedPools } from "./support/traced-pools.ts";

const SECRET = "a secret";

type Query = (...args: unknown[]) => unknown;

describe("traceQueries() with faults", function () {
  this.timeout(30_000);
  const { plain, traced } = tracedPools("telemetry-faults");

  /** Returns the traced method of a driver whose queries have the given outcome. */
  function queryWith(outcome: Query) {
    const pool = plain();
    const { traceQueries, ...tracing } = createTracing();
    traceQueries(pool);
    class Client {
      query(...args: unknown[]): unknown {
        return outcome(...args);
      }
    }
    const client = new Client();
    pool.emit("acquire", client as never);
    return { ...tracing, client };
  }

  it("TRACE-8 TRACE-15 records the SQLSTATE of an error, never its message", async () => {
    const { pool, spans } = traced({ recordStatement: true });
    const error = await rejection(pool.query("select $1::int", [SECRET]));
    expect(error).to.include({ code: "22P02" });
    expect(error.message).to.contain(SECRET);
    expect(spans.all[0]).to.deep.include({ ends: 1, failed: true });
    expect(spans.all[0]?.attributes).to.include({ "error.type": "22P02", "db.statement": "select $1::int" });
    expect(JSON.stringify(spans.all)).to.not.contain(SECRET);
  });

  it("records the SQLSTATE of an error that a callback receives", async () => {
    const { pool, spans } = traced();
    const client = await pool.connect();
    const error = await new Promise((resolve) => client.query("select 1 / $1::int", [0], resolve));
    client.release();
    expect(error).to.include({ code: "22012" });
    expect(spans.all[0]?.attributes["error.type"]).to.equal("22012");
    expect(spans.all[0]).to.include({ ends: 1, failed: true });
  });

  it("fails the span of a statement whose connection the server ends", async () => {
    const { pool, spans } = traced();
    const client = await pool.connect();
    client.on("error", () => undefined);
    const { rows } = await client.query("select pg_backend_pid() as pid");
    const sleeping = rejection(client.query("select pg_sleep(60)"));
    const other = plain();
    await until("it sleeps", async () => {
      const query =
        "select 1 from pg_stat_activity where pid = $1 and query like '%sleep%' and state = 'active'";
      return (await other.query(query, [rows[0].pid])).rows.length > 0;
    });
    await other.query("select pg_terminate_backend($1)", [rows[0].pid]);
    expect(await sleeping).to.include({ code: "57P01" });
    client.release(true);
    expect(spans.all[1]).to.include({ ends: 1, failed: true });
    expect(spans.all[1]?.attributes["error.type"]).to.equal("57P01");
    await pool.query("select 1");
    expect(spans.all).to.have.length(3);
  });

  it("fails the span of a statement on a client that has ended", async () => {
    const { pool, spans } = traced();
    const client = await pool.connect();
    client.release(true);
    const error = await rejection(client.query("select 1"));
    expect(error.message).to.contain("not queryable");
    expect(spans.all[0]?.attributes["error.type"]).to.equal("Error");
  });

  const types: readonly (readonly [error: unknown, type: string])[] = [
    [Object.assign(new Error(SECRET), { code: "ECONNRESET" }), "ECONNRESET"],
    [Object.assign(new RangeError(SECRET), { code: SECRET }), "RangeError"],
    [new Error(SECRET, { cause: Object.assign(new Error(SECRET), { code: "23505" }) }), "23505"],
    [Object.assign(new Error(SECRET), { name: `${SECRET}!` }), "unknown error"],
    [SECRET, "unknown error"],
    [undefined, "unknown error"],
  ];
  for (const [error, type] of types) {
    it(`records the error type ${type}, and rejects with the same value`, async () => {
      const { client, spans } = queryWith(() => Promise.reject(error as Error));
      const reason = await (client.query("select 1") as Promise<unknown>).then(
        () => "it resolved",
        (each: unknown) => each,
      );
      expect(reason).to.equal(error);
      expect(spans.all[0]).to.include({ ends: 1, failed: true });
      expect(spans.all[0]?.attributes["error.type"]).to.equal(type);
      expect(JSON.stringify(spans.all)).to.not.contain(SECRET);
    });
  }

  it("fails the span when the driver throws, and throws the same error", async () => {
    const error = new Error(SECRET);
    const { client, spans } = queryWith(() => {
      throw error;
    });
    expect(await rejection(() => client.query("select 1"))).to.equal(error);
    expect(spans.all[0]).to.include({ ends: 1, failed: true });
  });

  it("ends the span of a statement whose error cannot be read", async () => {
    const error = Object.defineProperty(new Error(SECRET), "code", {
      get() {
        throw new Error("it cannot be read");
      },
    });
    const { client, spans, failures } = queryWith(() => Promise.reject(error));
    expect(await rejection(client.query("select 1") as Promise<unknown>)).to.equal(error);
    expect(spans.all[0]).to.include({ ends: 1, failed: true });
    expect(failures).to.have.length(1);
  });

  for (const [name, args] of Object.entries({
    "no statement": [],
    null: [null],
    "a callback that is not a function": ["select 1", [], "callback"],
    "values that are not an array": ["select $1", { length: 1 }],
    "neither text nor name": [{}],
  })) {
    it(`fails with the same error as without tracing for ${name}`, async () => {
      const outcome = async (pool: pg.Pool): Promise<unknown> => {
        const client = await pool.connect();
        try {
          return await rejection(() => (client.query as Query)(...args) as Promise<unknown>);
        } finally {
          client.release();
        }
      };
      const { pool, spans } = traced();
      const expected = (await outcome(plain())) as Error;
      const error = (await outcome(pool)) as Error;
      expect(error.constructor).to.equal(expected.constructor);
      expect(error.message).to.equal(expected.message);
      expect(spans.all.every(({ ends, failed }) => ends === 1 && failed)).to.equal(true);
    });
  }

  it("throws the error that a getter of the statement throws", async () => {
    const error = new Error("it cannot be read");
    const { pool, failures } = traced();
    const client = await pool.connect();
    const statement = {
      get text(): string {
        throw error;
      },
    };
    expect(await rejection(() => client.query(statement) as Promise<unknown>)).to.equal(error);
    expect(failures).to.deep.equal([error]);
    expect((await client.query("select 1 as one")).rows).to.deep.equal([{ one: 1 }]);
    client.release();
  });

  it("does not handle a rejection that the application leaves unhandled", async () => {
    const listeners = process.listeners("unhandledRejection");
    process.removeAllListeners("unhandledRejection");
    const unhandled: unknown[] = [];
    process.on("unhandledRejection", (reason) => unhandled.push(reason));
    try {
      const error = new Error(SECRET);
      const { client } = queryWith(() => Promise.reject(error));
      void client.query("select 1");
      await until("the rejection is reported", () => unhandled.length > 0);
      expect(unhandled).to.deep.equal([error]);
    } finally {
      process.removeAllListeners("unhandledRejection");
      for (const listener of listeners) process.on("unhandledRejection", listener);
    }
  });

  it("keeps the calling function's name in the stack of an error", async () => {
    const { pool } = traced();
    const client = await pool.connect();
    async function theCaller(): Promise<void> {
      const { rows } = await client.query("select 1 / 0");
      expect(rows).to.equal("never");
    }
    const { stack } = await rejection(theCaller());
    client.release();
    expect(stack).to.contain("theCaller");
  });

  it("TRACE-21 runs a statement without a span on a connection that cannot be traced", async () => {
    const { pool, spans, failures } = traced();
    pool.once("connect", (client) => Object.defineProperty(client, "query", { value: client.query }));
    expect((await pool.query("select 1 as one")).rows).to.deep.equal([{ one: 1 }]);
    expect(failures).to.have.length(1);
    expect(spans.all).to.deep.equal([]);
  });
});

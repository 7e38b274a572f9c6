import { createRequire } from "node:module";
import { rejection, until } from "@svc/test-support";
import { expect } from "chai";
import pg from "pg";
import { from, to } from "pg-copy-streams";
import QueryStream from "pg-query-stream";
import type { StatementSpan } from "./support/recorded-spans.ts";
import { tracedPools } from "./support/traced-pools.ts";

interface Cursor extends pg.Submittable {
  read(rows: number): Promise<unknown[]>;
  close(): Promise<void>;
}
// The package has no types.
const Cursor = createRequire(import.meta.url)("pg-cursor") as new (
  text: string,
  values?: unknown[],
) => Cursor;

const text = "select n from numbers where n <= $1";

describe("the span of a cursor or a stream", function () {
  this.timeout(30_000);
  const { plain, traced } = tracedPools("telemetry-cursors");
  before(async () => {
    await plain().query("create table numbers as select generate_series(1, 1000) as n");
  });

  const ended = (span: StatementSpan | undefined, failed = false): void => {
    expect(span).to.include({ name: "SELECT numbers", ends: 1, failed });
    expect(span?.attributes).to.not.have.property("db.rows_affected");
  };

  it("ends when a cursor is exhausted", async () => {
    const { pool, spans } = traced();
    const client = await pool.connect();
    const cursor = new Cursor(text, [5]);
    expect(client.query(cursor)).to.equal(cursor);
    expect(await cursor.read(3)).to.have.length(3);
    expect(spans.all[0]?.ends).to.equal(0);
    expect(await cursor.read(3)).to.have.length(2);
    ended(spans.all[0]);
    await client.query("select 1");
    client.release();
  });

  it("ends when a cursor is closed", async () => {
    const { pool, spans } = traced();
    const client = await pool.connect();
    const cursor = client.query(new Cursor(text, [5]));
    await cursor.read(1);
    expect(spans.all[0]?.ends).to.equal(0);
    await cursor.close();
    client.release();
    ended(spans.all[0]);
  });

  it("fails when a cursor fails", async () => {
    const { pool, spans } = traced();
    const client = await pool.connect();
    const cursor = client.query(new Cursor(text, ["secret"]));
    const error = await rejection(cursor.read(1));
    expect(error).to.include({ code: "22P02" });
    await cursor.close();
    client.release();
    ended(spans.all[0], true);
    expect(spans.all[0]?.attributes["error.type"]).to.equal("22P02");
    expect(JSON.stringify(spans.all)).to.not.contain("secret");
  });

  it("ends when an open cursor's connection is returned to the pool", async () => {
    const { pool, spans } = traced();
    const client = await pool.connect();
    const cursor = client.query(new Cursor(text, [5]));
    await cursor.read(1);
    client.release(true);
    ended(spans.all[0]);
  });

  it("fails when an open cursor's connection is lost", async () => {
    const { pool, spans } = traced();
    const client = await pool.connect();
    client.on("error", () => undefined);
    const cursor = client.query(new Cursor(text, [5]));
    await cursor.read(1);
    (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
    await until("the span has ended", () => spans.all[0]?.ends === 1);
    ended(spans.all[0], true);
    client.release(true);
  });

  it("ends when a stream has been read to its end", async () => {
    const { pool, spans } = traced();
    const client = await pool.connect();
    const stream = new QueryStream(text, [500], { batchSize: 100 });
    expect(client.query(stream)).to.equal(stream);
    let rows = 0;
    for await (const row of stream) rows += Number("n" in row);
    client.release();
    expect(rows).to.equal(500);
    ended(spans.all[0]);
  });

  it("ends when a stream is abandoned", async () => {
    const { pool, spans } = traced();
    const client = await pool.connect();
    for await (const _row of client.query(new QueryStream(text, [500]))) break;
    client.release();
    ended(spans.all[0]);
    const { rows } = await pool.query("select 1 as one");
    expect(rows).to.deep.equal([{ one: 1 }]);
  });

  it("fails when a stream fails", async () => {
    const { pool, spans } = traced();
    const client = await pool.connect();
    const stream = client.query(new QueryStream(text, ["secret"]));
    const error = await rejection(stream.toArray());
    client.release();
    expect(error).to.include({ code: "22P02" });
    ended(spans.all[0], true);
  });

  it("ends when a stream that was passed to the pool has been read to its end", async () => {
    const { pool, spans } = traced();
    const stream = new QueryStream(text, [500]);
    const finished = (pool.query as (statement: unknown) => Promise<unknown>).call(pool, stream);
    expect(await stream.toArray()).to.have.length(500);
    await finished;
    ended(spans.all[0]);
  });

  it("ends when a query object completes, whose callback runs in the caller's context", async () => {
    const { pool, spans } = traced();
    const client = await pool.connect();
    const query = new pg.Query(text, [5]);
    const [active, rows] = await spans.inside(
      "request",
      () =>
        new Promise<[unknown, unknown[]]>((resolve, reject) => {
          const callback = (error: Error | null, result: pg.QueryResult): void =>
            error === null ? resolve([spans.active(), result.rows]) : reject(error);
          expect((client.query as (...args: unknown[]) => unknown)(query, callback)).to.equal(query);
        }),
    );
    client.release();
    expect(active).to.equal("request");
    expect(rows).to.have.length(5);
    ended(spans.all[0]);
  });

  it("fails when the result of a query object cannot be parsed", async () => {
    const { pool, spans } = traced();
    const client = await pool.connect();
    const types = {
      getTypeParser: () => () => {
        throw new SyntaxError("secret");
      },
    };
    const query = new pg.Query({ text, values: [5], types } as never);
    const failed = new Promise((resolve) => query.on("error", resolve));
    client.query(query);
    expect(await failed).to.be.instanceOf(SyntaxError);
    await client.query("select 1");
    client.release();
    ended(spans.all[0], true);
    expect(spans.all[0]?.attributes["error.type"]).to.equal("SyntaxError");
  });

  it("ends when a COPY in either direction completes", async () => {
    const { pool, spans } = traced();
    const client = await pool.connect();
    await client.query("create temp table copied (n int)");
    const sink = client.query(from("copy copied from stdin"));
    sink.end("1\n2\n");
    await new Promise((resolve, reject) => sink.on("finish", resolve).on("error", reject));
    const copied = await client.query(to("copy copied to stdout")).toArray();
    await client.query("select 1");
    client.release();
    expect(Buffer.concat(copied as Buffer[]).toString()).to.equal("1\n2\n");
    expect(spans.all.map(({ name, ends }) => `${name} ${ends}`)).to.deep.equal([
      "CREATE 1",
      "COPY 1",
      "COPY 1",
      "SELECT 1",
    ]);
  });

  it("ends immediately if the end of the cursor cannot be observed", async () => {
    const { pool, spans, failures } = traced();
    const client = await pool.connect();
    const cursor = new Cursor(text, [5]);
    const frozen = new Proxy(cursor, {
      set(target, key, value) {
        if (key === "handleError") throw new TypeError("it is frozen");
        return Reflect.set(target, key, value);
      },
    });
    expect(client.query(frozen)).to.equal(frozen);
    expect(await cursor.read(1)).to.have.length(1);
    await cursor.close();
    client.release();
    ended(spans.all[0]);
    expect(failures).to.have.length(1);
  });
});

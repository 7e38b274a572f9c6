import { createSearchStore, hasVector } from "@svc/search-store";
import type { Queryable } from "@svc/sql";
import { expect } from "chai";
import type { Pool, PoolClient } from "pg";
import { checkExtension, explained } from "../src/extension.ts";
import { createEncoder } from "../src/bulk/encoder.ts";
import { openSink, wayOf } from "../src/bulk/sinks.ts";
import { useServer } from "./support/backends.ts";
import { failureOf } from "./support/failure.ts";

// The columns of a store on a server without pgvector: the embedding is a bytea.
const TABLE = `
create table if not exists plain (tenant_id text, document_id text, ordinal int, content text, content_sha256 bytea, meta jsonb,
  embedding bytea, primary key (tenant_id, document_id, ordinal))`;

const ROW = {
  documentId: "é",
  content: "it's \\ 😀",
  hash: "ab".repeat(32),
  meta: '{"a": [1, "\\\\"]}',
  embedding: [1, -2],
};
const target = { tenant: "t", quotedTable: "plain", vectorType: "halfvec(2)", precision: "half" } as const;

describe("a binary COPY to a real server", () => {
  let pool: Pool;
  let client: PoolClient;
  // Register this hook before the hook of useServer(): the pool can end only after all connections are released.
  after(async () => {
    await client.query("drop table plain");
    client.release();
  });
  const server = useServer();
  before(async () => {
    pool = server().pool;
    client = await pool.connect();
    await client.query(TABLE);
  });
  beforeEach(() => client.query("truncate plain"));

  const count = async (): Promise<unknown> =>
    (await client.query<{ n: number }>("select count(*)::int as n from plain")).rows[0]?.n;

  it("transfers every field unchanged", async () => {
    expect(wayOf(client, false)).to.equal("stream");
    const sink = await openSink(client, "stream", target);
    await sink.write([{ ...ROW, ordinal: 0 }]);
    await sink.write([{ ...ROW, ordinal: 2 ** 31 - 1 }]);
    await sink.end();
    const { rows } = await client.query("select * from plain order by ordinal");
    const bytes = createEncoder("t", "half")([{ ...ROW, ordinal: 0 }]).subarray(-8);
    expect(rows[0]).to.deep.equal({
      tenant_id: "t",
      document_id: "é",
      ordinal: 0,
      content: ROW.content,
      content_sha256: Buffer.from(ROW.hash, "hex"),
      meta: { a: [1, "\\"] },
      embedding: bytes,
    });
    expect(rows.map((row: { ordinal: number }) => row.ordinal)).to.deep.equal([0, 2 ** 31 - 1]);
  });

  it("accepts an empty load, and a load of 10 MB", async () => {
    const none = await openSink(client, "stream", target);
    await none.end();
    expect(await count()).to.equal(0);
    const many = await openSink(client, "stream", target);
    const content = "x".repeat(10_000);
    for (let batch = 0; batch < 20; batch++) {
      await many.write(
        Array.from({ length: 50 }, (_, index) => ({ ...ROW, content, ordinal: batch * 50 + index })),
      );
    }
    await many.end();
    expect(await count()).to.equal(1000);
  });

  it("stores nothing when it is aborted, and leaves the connection usable", async () => {
    for (const rows of [0, 1, 1000]) {
      const sink = await openSink(client, "stream", target);
      if (rows > 0) await sink.write(Array.from({ length: rows }, (_, ordinal) => ({ ...ROW, ordinal })));
      await sink.abort();
      await sink.abort();
      expect(await count()).to.equal(0);
    }
  });

  it("rejects with the server's error, whether at the beginning or at the end, and leaves the connection usable", async () => {
    const twice = await openSink(client, "stream", target);
    await twice.write([
      { ...ROW, ordinal: 1 },
      { ...ROW, ordinal: 1 },
    ]);
    expect((await failureOf(twice.end())).code).to.equal("23505");
    await twice.abort();
    const nowhere = await openSink(client, "stream", { ...target, quotedTable: "nowhere" });
    const early = await failureOf(
      (async () => {
        await nowhere.write([{ ...ROW, ordinal: 1 }]);
        await nowhere.end();
      })(),
    );
    expect(early.code).to.equal("42P01");
    await nowhere.abort();
    expect(await count()).to.equal(0);
  });

  it("rejects when the connection is lost", async () => {
    const lost = await pool.connect();
    lost.on("error", () => undefined);
    const sink = await openSink(lost, "stream", target);
    await sink.write([{ ...ROW, ordinal: 1 }]);
    const { rows } = await client.query<{ gone: boolean }>(
      "select pg_terminate_backend(pid, 5000) as gone from pg_stat_activity where query like 'copy plain%' and pid <> pg_backend_pid()",
    );
    expect(rows).to.deep.equal([{ gone: true }]);
    const error = await failureOf(
      (async () => {
        for (let ordinal = 2; ; ordinal++) await sink.write([{ ...ROW, ordinal }]);
      })(),
    );
    await sink.abort();
    expect(error).to.be.instanceOf(Error);
    lost.release(true);
    expect(await count()).to.equal(0);
  });
});

describe("a server without pgvector", () => {
  /** Returns a database that returns these catalogue values. */
  function server(installed: string | null, available: string | null, reachable = true): Queryable {
    return { query: () => Promise.resolve({ rows: [{ installed, available, reachable } as never] }) };
  }

  it("is distinguished from a server where pgvector exists or can be created", async () => {
    expect(await hasVector(server("0.8.0", "0.8.0"))).to.equal(true);
    expect(await hasVector(server(null, "0.10.1", false))).to.equal(true);
    expect(await hasVector(server(null, null, false))).to.equal(false);
    expect(await hasVector(server("0.7.4", "0.8.0"))).to.equal(false);
    expect(await hasVector(server("1.0", null))).to.equal(true);
  });

  it("is rejected with an error that names the command to run", async () => {
    const messages: [Queryable, RegExp][] = [
      [
        server(null, null, false),
        /has no pgvector: install it on the server, then run `create extension vector`/,
      ],
      [
        server("0.7.4", "0.8.0"),
        /pgvector 0\.7\.4 is too old; at least 0\.8 is needed: run `alter extension vector update`/,
      ],
      [server(null, "0.5.1", false), /pgvector 0\.5\.1 is too old; .*: install a later version/],
      [server("0.8.0", "0.8.0", false), /on the search_path/],
    ];
    for (const [db, message] of messages) {
      const error = await failureOf(createSearchStore({ db, dimensions: 3 }).ensureSchema());
      expect(error.code).to.equal("ERR_SVC_SEARCH_EXTENSION");
      expect(error.message).to.match(message);
    }
  });

  it("is rejected with a clear error if the role lacks the privilege to create pgvector", () => {
    const before = { installed: undefined, available: "0.8.0", reachable: false };
    checkExtension(before);
    const denied = Object.assign(new Error("permission denied to create extension"), { code: "42501" });
    expect(explained(denied, before)).to.include({ code: "ERR_SVC_SEARCH_EXTENSION", cause: denied });
    expect((explained(denied, before) as Error).message).to.contain("run `create extension vector`");
    expect(explained(denied, { ...before, installed: "0.8.0" }), "about something else").to.equal(denied);
  });

  it("is reported as unhealthy by the readiness check, like a server that does not respond", async () => {
    const ready = (db: Queryable): unknown =>
      createSearchStore({ db, dimensions: 3 }).readiness().check(new AbortController().signal);
    const rows = [{ version: null, present: false } as never];
    expect(await ready({ query: () => Promise.resolve({ rows }) })).to.deep.equal({
      healthy: false,
      critical: false,
      detail: "pgvector is missing: run `create extension vector`",
    });
    const hanging = createSearchStore({ db: { query: () => new Promise(() => undefined) }, dimensions: 3 });
    expect(await hanging.readiness().check(AbortSignal.timeout(10))).to.deep.equal({
      healthy: false,
      critical: false,
      detail: "not answering in time",
    });
    const refused = Object.assign(new Error("connect to db.internal"), { code: "ECONNREFUSED" });
    expect(await ready({ query: () => Promise.reject(refused) })).to.deep.equal({
      healthy: false,
      critical: false,
      detail: "not answering (ECONNREFUSED)",
    });
  });
});

import { createServer } from "node:net";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { testDatabase } from "@svc/dev-services";
import { isConnectionError, safeErrorText, sqlStateOf } from "@svc/sql";
import { until } from "@svc/test-support";
import { expect } from "chai";
import pg from "pg";
import { connections } from "./support/connections.ts";
import { failure } from "./support/failure.ts";

const withCode = (code: string, more: object = {}): Error =>
  Object.assign(new Error("secret"), { code, ...more });

describe("errors of a database", () => {
  const database = testDatabase({ name: "errors" });
  const { client, pool, end } = connections(() => database.url);
  after(end);

  it("are identified by their SQLSTATE when the server raised them", async () => {
    const db = await client();
    const error = await failure(db.query("select * from nothing_there"));
    expect(sqlStateOf(error)).to.equal("42P01");
    expect(isConnectionError(error)).to.equal(false);
    expect(safeErrorText(error)).to.equal("SQLSTATE 42P01");
  });

  it("are recognised when another library's error wraps them", async () => {
    const db = await client();
    const cause = await failure(db.query("select 1/0"));
    const wrapped = new Error("query failed", { cause: new Error("driver", { cause }) });
    expect(sqlStateOf(wrapped)).to.equal("22012");
    expect(safeErrorText(wrapped)).to.equal("SQLSTATE 22012");
  });

  it("are connection errors when the server ends the session", async () => {
    const db = await client();
    const other = await client();
    const { rows } = await db.query<{ pid: number }>("select pg_backend_pid() as pid");
    const sleeping = failure(db.query("select pg_sleep(60)"));
    await other.query("select pg_terminate_backend($1)", [rows[0]?.pid]);
    expect(isConnectionError(await sleeping)).to.equal(true);
    expect(isConnectionError(await failure(db.query("select 1")))).to.equal(true);
  });

  it("are connection errors when no server listens on the port", async () => {
    // Port 1 stays closed, whereas another process might open a free port before the test connects.
    const error = await failure(new pg.Client({ host: "127.0.0.1", port: 1 }).connect());
    expect(isConnectionError(error)).to.equal(true);
    expect(sqlStateOf(error)).to.equal(undefined);
    expect(safeErrorText(error)).to.equal("ECONNREFUSED");
  });

  it("are connection errors when the server closes the connection or does not respond", async () => {
    const server = createServer((socket) => socket.once("data", () => socket.destroy())).listen(
      0,
      "127.0.0.1",
    );
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    expect(isConnectionError(await failure(new pg.Client({ host: "127.0.0.1", port }).connect()))).to.equal(
      true,
    );
    server.close();

    const silent = createServer().listen(0, "127.0.0.1");
    await once(silent, "listening");
    const at = {
      host: "127.0.0.1",
      port: (silent.address() as AddressInfo).port,
      connectionTimeoutMillis: 50,
    };
    expect(isConnectionError(await failure(new pg.Client(at).connect()))).to.equal(true);
    expect(isConnectionError(await failure(new pg.Pool(at).connect()))).to.equal(true);
    silent.close();
  });

  it("are connection errors when the pool has no free connection", async () => {
    const small = pool({ max: 1, connectionTimeoutMillis: 50 });
    // Opening the connection may take longer on a busy machine.
    const lent = await until("it has been made", () => small.connect().catch(() => undefined));
    expect(isConnectionError(await failure(small.connect()))).to.equal(true);
    lent.release();
  });

  it("are not connection errors when the database does not exist", async () => {
    const url = new URL(database.url);
    url.pathname = "/no_such_database";
    const error = await failure(new pg.Client({ connectionString: url.href }).connect());
    expect(sqlStateOf(error)).to.equal("3D000");
    expect(isConnectionError(error)).to.equal(false);
  });

  for (const code of [
    "08006",
    "08P01",
    "53300",
    "57P01",
    "57P02",
    "57P03",
    "57P05",
    "25P03",
    "EPIPE",
    "ENOTFOUND",
  ]) {
    it(`are connection errors with the code ${code}`, () => {
      expect(isConnectionError(withCode(code))).to.equal(true);
    });
  }

  for (const code of ["23505", "40001", "57014", "28P01", "53100", "ENOENT", "EACCES", "ERR_SVC_SCHEMA"]) {
    it(`are not connection errors with the code ${code}`, () => {
      expect(isConnectionError(withCode(code))).to.equal(false);
    });
  }

  it("are connection errors when the Unix socket does not exist", () => {
    expect(isConnectionError(withCode("ENOENT", { syscall: "connect" }))).to.equal(true);
  });

  it("have no SQLSTATE when their code comes from a system call", () => {
    for (const code of ["EPIPE", "EPERM", "EBUSY", "42p01", "425", 42_501]) {
      expect(sqlStateOf({ code })).to.equal(undefined);
    }
    expect(sqlStateOf({ code: "XX000" })).to.equal("XX000");
    expect(sqlStateOf({ code: "P0001" })).to.equal("P0001");
  });

  it("are shown without their message by safeErrorText()", () => {
    expect(safeErrorText(new TypeError("postgres://me:secret@host/db"))).to.equal("TypeError");
    expect(safeErrorText(Object.assign(new Error("secret"), { name: "it is <secret>" }))).to.equal(
      "unknown error",
    );
    expect(safeErrorText("secret")).to.equal("unknown error");
    expect(safeErrorText(undefined)).to.equal("unknown error");
  });

  it("are not detected in a value that is not an error, or in a circular chain of causes", () => {
    const round: { cause?: unknown } = {};
    round.cause = round;
    for (const odd of [round, null, 5, "08006", Object.create(null)]) {
      expect(sqlStateOf(odd)).to.equal(undefined);
      expect(isConnectionError(odd)).to.equal(false);
    }
  });
});

import { once } from "node:events";
import { createServer, IncomingMessage, type RequestListener, ServerResponse } from "node:http";
import { connect, Socket } from "node:net";
import { contextOf, type Logger, type Middleware, onResponseEnd, openContext, pathOf } from "@svc/context";
import { accessLog, createLogger } from "@svc/log";
import { ConfigurationError } from "@svc/options";
import { expressMajors, listen, rawRequest, withActiveSpan } from "@svc/test-support";
import { anyCharacter } from "@svc/test-support/any-character";
import { expect } from "chai";
import fc from "fast-check";
import { pino, multistream } from "pino";
import supertest from "supertest";
import { type Lines, lines, memberNames } from "./support/lines.ts";

const base = { service: "shop", env: "local" };
const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";

/** Fills the context, as the packages for request ids, traces and tenants do. */
const identify: Middleware = (req, _res, next) => {
  const context = openContext(req);
  context.requestId = String(req.headers["x-request-id"] ?? "r-1");
  if (req.headers["x-traced"] !== undefined) {
    context.trace = { traceId, traceparent: "", tracestate: undefined };
    context.tenantId = "acme";
  }
  const claimed = req.headers["x-tenant-id"];
  if (claimed !== undefined) context.tenantClaimed = String(claimed);
  next();
};

/**
 * Returns the same service on a bare HTTP server and both Express majors. A path with `missing` returns 404, others
 * 200.
 */
function services(...middleware: Middleware[]): [string, RequestListener][] {
  const answer = (req: IncomingMessage, res: ServerResponse): void => {
    contextOf(req)?.log?.info({ step: 1 }, "working");
    res.statusCode = req.url?.includes("missing") === true ? 404 : 200;
    res.end("ok");
  };
  const bare: RequestListener = (req, res) => {
    const step = (index: number): void => {
      const next = middleware[index];
      if (next === undefined) answer(req, res);
      else next(req, res, () => step(index + 1));
    };
    step(0);
  };
  const apps = Object.entries(expressMajors).map(([name, express]): [string, RequestListener] => {
    const app = express();
    const inner = express.Router();
    inner.use((req, res) => answer(req, res));
    app.use(...middleware);
    app.use("/mounted", inner);
    app.use((req, res) => answer(req, res));
    return [name, app];
  });
  return [["bare http", bare], ...apps];
}

async function recordsAfter(out: Lines, count: number): Promise<Record<string, unknown>[]> {
  while (out.text.split("\n").length <= count) await new Promise((resolve) => setTimeout(resolve, 2));
  return out.records();
}

for (const name of ["bare http", ...Object.keys(expressMajors)]) {
  describe(`accessLog() on ${name}`, () => {
    function service(out: Lines, options: object = {}): RequestListener {
      const logger = createLogger({ ...base, destination: out });
      const found = services(identify, accessLog({ logger, ...options })).find(([each]) => each === name);
      return found?.[1] ?? expect.fail(name);
    }

    it("LOG-3 LOG-2 COR-4 writes one record per request with method, path, status and duration", async () => {
      const out = lines();
      await supertest(service(out)).post("/mounted/orders/7?token=abc").set("X-Request-ID", "caller-1");
      const [working, line] = await recordsAfter(out, 2);
      expect(working).to.include({ message: "working", request_id: "caller-1", step: 1 });
      expect(line).to.include({
        ...base,
        level: "info",
        message: "request",
        request_id: "caller-1",
        http_method: "POST",
        http_path: "/mounted/orders/7",
        http_status: 200,
      });
      expect(line?.["duration_ms"]).to.be.a("number").above(0);
      expect(String(line?.["duration_ms"])).to.match(/^\d+(\.\d{1,3})?$/);
      expect(line).not.to.have.any.keys("trace_id", "tenant_id", "tenant_claimed", "aborted");
    });

    it("LOG-4 COR-12 adds trace_id, tenant_id and tenant_claimed when they are known", async () => {
      const out = lines();
      const url = "/missing";
      await supertest(service(out))
        .get(url)
        .set("X-Traced", "1")
        .set("X-Tenant-ID", `${"t".repeat(200)}`);
      const [, line] = await recordsAfter(out, 2);
      expect(line).to.include({ trace_id: traceId, tenant_id: "acme", http_status: 404, http_path: url });
      expect(line?.["tenant_claimed"]).to.equal("t".repeat(128));
    });

    it("LOG-4 COR-12 adds the trace_id of the OpenTelemetry span around a request, even if its connection breaks", async () => {
      const out = lines();
      const logger = createLogger({ ...base, destination: out });
      const traced: Middleware = (_req, _res, next) =>
        void withActiveSpan(`00-${"ab".repeat(16)}-00f067aa0ba902b7-01`, () => next());
      const hang: Middleware = (req, _res, next) => {
        if (req.url !== "/broken") next();
      };
      const found = services(traced, accessLog({ logger }), hang).find(([each]) => each === name);
      await using server = await listen(found?.[1] ?? expect.fail());
      await (await fetch(`${server.url}/whole`)).text();
      const socket = connect(server.port, "127.0.0.1");
      socket.write("GET /broken HTTP/1.1\r\nHost: a\r\n\r\n");
      await once(server.server, "request");
      socket.destroy();
      const records = (await recordsAfter(out, 3)).filter(({ message }) => message === "request");
      expect(records.map(({ http_path, trace_id }) => [http_path, trace_id])).to.deep.equal([
        ["/whole", "ab".repeat(16)],
        ["/broken", "ab".repeat(16)],
      ]);
    });

    it("LOG-3 marks a request on a broken connection as aborted, with status 0 when no status was sent", async () => {
      const out = lines();
      const logger = createLogger({ ...base, destination: out });
      const hang: Middleware = (req, res) => {
        if (req.url === "/started") res.write("some");
      };
      const found = services(identify, accessLog({ logger }), hang).find(([each]) => each === name);
      await using server = await listen(found?.[1] ?? expect.fail());
      for (const path of ["/nothing", "/started"]) {
        const socket = connect(server.port, "127.0.0.1");
        socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
        if (path === "/started") await once(socket, "data");
        else await once(server.server, "request");
        socket.destroy();
        await recordsAfter(out, path === "/started" ? 2 : 1);
      }
      const [nothing, started] = out.records();
      expect(nothing).to.include({
        message: "request",
        aborted: true,
        http_status: 0,
        http_path: "/nothing",
      });
      expect(started).to.include({ message: "request", aborted: true, http_status: 200 });
    });
  });
}

describe("accessLog()", () => {
  const done = (_req: IncomingMessage, res: ServerResponse): void => void res.end();
  const serve =
    (...middleware: Middleware[]): RequestListener =>
    (req, res) => {
      const step = (index: number): void => {
        const next = middleware[index];
        if (next === undefined) done(req, res);
        else next(req, res, () => step(index + 1));
      };
      step(0);
    };

  it("LOG-3 LOG-2 writes the fields in the same order and form as the logger", async () => {
    const out = lines();
    const logger = createLogger({ ...base, version: "1.0.0", destination: out });
    const same: Middleware = (req, res, next) => {
      onResponseEnd(req, res, () => {
        const fields = { http_method: "GET", http_path: "/x", http_status: 200, duration_ms: 1 };
        logger.info({ ...contextFieldsOf(req), ...fields }, "request");
      });
      next();
    };
    await supertest(serve(identify, accessLog({ logger }), same))
      .get("/x")
      .set("X-Traced", "1");
    await recordsAfter(out, 2);
    const [byHand, byLogger] = out.text
      .split("\n")
      .map((line) => line.replace(/"time":"[^"]*"/, "").replace(/"duration_ms":[\d.]+/, ""));
    expect(byHand).to.equal(byLogger);
  });

  it("does not add a listener while its level is disabled, and follows level changes at run time", async () => {
    const out = lines();
    const logger = createLogger({ ...base, level: "WARN", destination: out });
    const listeners: number[] = [];
    const count: Middleware = (_req, res, next) => {
      listeners.push(res.listenerCount("close"));
      next();
    };
    const service = serve(count, accessLog({ logger }), count);
    await supertest(service).get("/off");
    logger.level = "info";
    await supertest(service).get("/on");
    const [line] = await recordsAfter(out, 1);
    expect(listeners[1]).to.equal(listeners[0]);
    expect(listeners[3]).to.equal((listeners[2] ?? 0) + 1);
    expect(line).to.include({ http_path: "/on" });
  });

  it("writes requests for quiet paths at debug level, and all others at the given level", async () => {
    const out = lines();
    const logger = createLogger({ ...base, destination: out });
    const service = serve(accessLog({ logger, level: "warn", quietPaths: ["/health"] }));
    await supertest(service).get("/health?full=1");
    await supertest(service).get("/healthy");
    logger.level = "debug";
    await supertest(service).get("/health");
    const records = await recordsAfter(out, 2);
    expect(records.map(({ level, http_path }) => [level, http_path])).to.deep.equal([
      ["warn", "/healthy"],
      ["debug", "/health"],
    ]);
  });

  it("includes a child logger's fields, each name once", async () => {
    const out = lines();
    const logger = createLogger({ ...base, destination: out });
    const plain = logger.child({ part: "api" });
    const clashing = logger.child({ part: "api", request_id: "bound", http_status: 1 });
    await supertest(serve(identify, accessLog({ logger: plain }))).get("/a");
    await supertest(serve(identify, accessLog({ logger: clashing }))).get("/b");
    const [first, second] = await recordsAfter(out, 2);
    expect(first).to.include({ part: "api", request_id: "r-1", message: "request" });
    expect(second).to.include({ part: "api", request_id: "r-1", http_status: 200, message: "request" });
    for (const line of out.text.trimEnd().split("\n")) {
      expect(memberNames(line)).to.deep.equal([...new Set(memberNames(line))]);
    }
  });

  it("LOG-3 writes the same fields through a logger made with pino() and through a plain object", async () => {
    const out = lines();
    const foreign = pino({ messageKey: "message", base: null }, out);
    const calls: [object, string | undefined][] = [];
    const note = (fields: object, message?: string): void => void calls.push([fields, message]);
    const any: Logger = { debug: note, info: note, warn: note, error: note, fatal: note };
    await supertest(serve(identify, accessLog({ logger: foreign }), accessLog({ logger: any }))).get("/x");
    const [line] = await recordsAfter(out, 1);
    const fields = { request_id: "r-1", http_method: "GET", http_path: "/x", http_status: 200 };
    expect(line).to.include({ ...fields, message: "request" });
    expect(calls[0]?.[0]).to.include(fields);
    expect(calls[0]?.[1]).to.equal("request");
    foreign.level = "silent";
    await supertest(serve(accessLog({ logger: foreign }))).get("/y");
    expect(out.records()).to.have.length(1);
  });

  it("ignores the error of a logger that throws at the end of a response", async () => {
    let calls = 0;
    const { promise: both, resolve } = Promise.withResolvers<void>();
    const fail = (): never => {
      if (++calls === 2) resolve();
      throw new Error("the logger's");
    };
    const broken: Logger = { debug: fail, info: fail, warn: fail, error: fail, fatal: fail };
    const server = serve(accessLog({ logger: broken }));
    for (let times = 1; times <= 2; times++) expect((await supertest(server).get("/x")).status).to.equal(200);
    await both;
    expect(calls).to.equal(2);
  });

  it("writes a request only to the streams of its level when the destination is a pino multistream", async () => {
    const out = lines();
    const errors = lines();
    const streams = multistream([
      { level: "info", stream: out },
      { level: "error", stream: errors },
    ]);
    const logger = createLogger({ ...base, destination: streams });
    logger.error("first");
    await supertest(serve(accessLog({ logger }))).get("/x");
    await recordsAfter(out, 2);
    expect(errors.records()).to.have.length(1);
  });

  it("LOG-6 writes human-readable text when the logger has json: false", async () => {
    const out = lines();
    const logger = createLogger({ ...base, json: false, destination: out });
    await supertest(serve(identify, accessLog({ logger }))).get("/x");
    while (out.text === "") await new Promise((resolve) => setTimeout(resolve, 2));
    expect(out.text).to.match(
      /INFO {2}request service=shop env=local request_id=r-1 http_method=GET http_path=\/x /,
    );
  });

  it("LOG-1 redacts secrets in a path and in a claimed tenant", async () => {
    const out = lines();
    const logger = createLogger({ ...base, destination: out });
    await using server = await listen(serve(identify, accessLog({ logger })));
    const path = "/go/postgres://user:canary@db/token=canary";
    await rawRequest(
      server.port,
      `GET ${path} HTTP/1.1\r\nHost: a\r\nX-Tenant-ID: password=canary\r\nConnection: close\r\n\r\n`,
    );
    await rawRequest(
      server.port,
      "GET http://u:canary@h/abs?x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    );
    await rawRequest(server.port, "OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    const records = await recordsAfter(out, 3);
    expect(out.text).not.to.contain("canary");
    expect(records[1]).to.include({ http_path: "/abs" });
    expect(records[2]).to.include({ http_path: "*" });
  });

  it("LOG-1 redacts and escapes a child logger's fields like its other lines, in JSON and in text", async () => {
    const bound = {
      db: "postgres://app:canary@db/app",
      api_key: "canary",
      "redis://:canary@cache": 1,
      note: "x\u2028y",
    };
    for (const json of [true, false]) {
      const out = lines();
      const child = createLogger({ ...base, json, destination: out }).child(bound);
      const access = accessLog({ logger: child });
      await supertest(serve(access)).get("/a");
      while (out.text === "") await new Promise((resolve) => setTimeout(resolve, 2));
      child.info("inside");
      child.setBindings({ api_key: "canary too" });
      await supertest(serve(access)).get("/b");
      while (out.text.split("\n").length < 4) await new Promise((resolve) => setTimeout(resolve, 2));
      const fields = json ? /"service":.*"note":"[^"]*"/ : /service=.* note=\S+/;
      const [first, inside, second] = out.text.split("\n").map((line) => fields.exec(line)?.[0]);
      expect(first).to.contain("x\\u2028y").and.to.contain("postgres://[redacted]@db/app");
      expect([first, second]).to.deep.equal([inside, inside]);
      expect(out.text).not.to.contain("canary");
    }
  });

  it("LOG-1 redacts its own members with a name from `redact`", async () => {
    const out = lines();
    const logger = createLogger({ ...base, redact: ["http_path"], destination: out });
    await supertest(serve(identify, accessLog({ logger }))).get("/patients/alice");
    const [line] = await recordsAfter(out, 1);
    expect(line).to.include({ request_id: "r-1", http_path: "[redacted]", http_status: 200 });
  });

  it("LOG-2 writes a name once even if setBindings() binds it after accessLog()", async () => {
    const out = lines();
    const logger = createLogger({ ...base, destination: out }).child({});
    const access = accessLog({ logger });
    logger.setBindings({ http_path: "bound", part: "api" });
    await supertest(serve(access)).get("/x");
    await recordsAfter(out, 1);
    expect(memberNames(out.text)).to.deep.equal([...new Set(memberNames(out.text))]);
    expect(out.records()[0]).to.include({ http_path: "/x", part: "api" });
  });

  it("LOG-1 COR-4 writes the same fields as the logger for 5,000 generated ids, tenants, paths and bound fields", () => {
    let written = "";
    const destination = { write: (line: string) => void (written += line) };
    const root = createLogger({ ...base, destination, redact: ["plate"] });
    const piece = fc.oneof(
      fc.constantFrom(..."/ = : . - _ @ ? & % [ { \" \\ ' \u007f \u2028".split(" "), " "),
      fc.constantFrom("token", "password=", "plate=", "://", "bearer ", "basic+", "eyJ", "cookie:", "canary"),
      fc.constantFrom("postgres://app:canary@db/app", "Bearer canary-123", '{"secret":"canary"}'),
      fc.string({ maxLength: 4 }),
    );
    const text = fc.array(piece, { maxLength: 5 }).map((pieces) => pieces.join(""));
    const socket = new Socket();
    fc.assert(
      fc.property(text, text, text, text, text, (requestId, tenantId, tenantClaimed, path, bound) => {
        written = "";
        const url = `/${path.replace(/[?#]/g, "")}`;
        const req = Object.assign(new IncomingMessage(socket), { url, method: "GET" });
        Object.assign(openContext(req), { requestId, tenantId, tenantClaimed });
        const res = new ServerResponse(req);
        const logger = root.child({ bound, [`n${bound}`]: { deep: bound } });
        const fields = { http_method: "GET", http_path: pathOf(req), http_status: 0, duration_ms: 1 };
        // The listener runs outside of the request, so the ids are fields here, as in an access line.
        const ids = { ...(requestId === "" ? {} : { request_id: requestId }), tenant_id: tenantId };
        accessLog({ logger })(req, res, () => undefined);
        res.emit("close");
        logger.info({ ...ids, tenant_claimed: tenantClaimed, ...fields }, "request");
        const [access, app] = written
          .trimEnd()
          .split("\n")
          .map((line) =>
            line.replace(/"time":"[^"]*"/, "").replace(/"duration_ms":[\d.]+(,"aborted":true)?/, ""),
          );
        expect(access).to.equal(app);
      }),
      { numRuns: 5000 },
    );
  }).timeout(60_000);

  it("does not affect the response when a destination throws, or a logger throws or rejects", async () => {
    const fail = (): never => {
      throw new Error("the disk is full");
    };
    const reject = (): never => Promise.reject(new Error("the disk is full")) as never;
    const ofDestination = createLogger({ ...base, destination: { write: fail } });
    for (const logger of [
      ofDestination,
      ofDestination.child({ http_method: "bound" }),
      ...[fail, reject].map((each) => ({ debug: each, info: each, warn: each, error: each, fatal: each })),
    ]) {
      const ended = Promise.withResolvers<void>();
      const access = accessLog({ logger });
      await using server = await listen((req, res) => {
        access(req, res, () => res.end());
        // This listener runs after the access log's listener, which was added first.
        res.once("close", () => setImmediate(ended.resolve));
      });
      const answer = await rawRequest(server.port, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
      expect(answer.status).to.equal(200);
      await ended.promise;
    }
  });

  it("LOG-3 truncates a path at 2,048 characters", async () => {
    const out = lines();
    const logger = createLogger({ ...base, destination: out });
    await supertest(serve(accessLog({ logger }))).get(`/${"p".repeat(5000)}`);
    const [line] = await recordsAfter(out, 1);
    expect(line?.["http_path"]).to.have.length(2048);
  });

  it("LOG-1 COR-4 writes one JSON line per record for 10,000 fuzzed ids, paths and messages", () => {
    let written = "";
    const destination = { write: (line: string) => void (written += line) };
    const logger = createLogger({ ...base, destination });
    const access = accessLog({ logger });
    const hard = fc.constantFrom(
      "\n",
      "\r\n",
      "\u001b[2J",
      "\u2028",
      "\u2029",
      '"',
      "\\",
      "\u0000",
      "\ud800",
      "\u0085",
    );
    const text = fc.array(fc.oneof(hard, fc.string({ unit: anyCharacter, maxLength: 6 })), { maxLength: 6 });
    const socket = new Socket();
    let runs = 0;
    fc.assert(
      fc.property(text, text, text, (id, path, message) => {
        runs++;
        written = "";
        const req = Object.assign(new IncomingMessage(socket), { url: `/${path.join("")}`, method: "GET" });
        openContext(req).requestId = `x${id.join("")}`;
        const res = new ServerResponse(req);
        access(req, res, () => logger.info({ path: path.join("") }, message.join("")));
        res.emit("close");
        expect(written).to.match(/^[^\n]+\n[^\n]+\n$/);
        for (const line of written.trimEnd().split("\n")) {
          const record = JSON.parse(line) as Record<string, unknown>;
          expect(record).to.include.keys("service", "env", "level", "message", "request_id");
          expect(line).not.to.match(/[\p{Cc}\u2028\u2029]/u);
          expect(asUtf8(record["request_id"])).to.equal(asUtf8(`x${id.join("")}`));
        }
      }),
      { numRuns: 10_000 },
    );
    expect(runs).to.equal(10_000);
  }).timeout(60_000);

  it("rejects invalid options", () => {
    expect(() => accessLog({} as never)).to.throw(ConfigurationError, /logger: is required/);
    const logger = createLogger({ ...base, destination: lines() });
    expect(() => accessLog({ logger, level: "loud" as never, quietPaths: ["health"] }))
      .to.throw(ConfigurationError)
      .with.property("faults")
      .that.has.length(2);
    expect(() =>
      createServer()
        .on("request", accessLog as never)
        .emit("request", { headers: {}, method: "", socket: 1 }),
    ).to.throw(ConfigurationError, /write app\.use\(accessLog\(\)\)/);
  });
});

function contextFieldsOf(req: IncomingMessage): object {
  const context = contextOf(req);
  return { request_id: context?.requestId, trace_id: context?.trace?.traceId, tenant_id: context?.tenantId };
}

function asUtf8(text: unknown): string {
  return Buffer.from(String(text)).toString();
}

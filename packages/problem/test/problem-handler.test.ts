import { expect } from "chai";
import { openContext } from "@svc/context";
import { ConfigurationError } from "@svc/options";
import { ProblemError, problemHandler, responseError } from "@svc/problem";
import { collectingLogger, expressMajors, listen, rawRequest } from "@svc/test-support";
import { connect } from "node:net";
import { EventEmitter, once } from "node:events";
import { ask, serve, stacks } from "./support/stacks.ts";

describe("problemHandler", () => {
  it("rejects unknown and invalid options", () => {
    expect(() => problemHandler({ debugs: true } as never)).to.throw(
      ConfigurationError,
      "did you mean debug?",
    );
    expect(() => problemHandler({ debug: "yes" as never })).to.throw(ConfigurationError, "true or false");
    expect(() => problemHandler({ logger: {} as never })).to.throw(ConfigurationError, "a logger");
  });

  it("accepts any logger with debug() and error(), such as the console", () => {
    expect(() => problemHandler({ logger: console })).not.to.throw();
    const logger = { error: () => undefined } as never;
    expect(() => problemHandler({ logger })).to.throw(ConfigurationError, "it has no debug()");
  });

  it("has exactly four parameters, as Express requires of an error handler", () => {
    expect(problemHandler()).to.have.lengthOf(4);
  });
});

for (const stack of stacks) {
  describe(`problemHandler on ${stack}`, () => {
    it("ERR-7 ERR-8 responds to an unhandled exception with the generic detail and logs it once with its stack", async () => {
      const logger = collectingLogger();
      const thrown = new Error("password=hunter2");
      await using server = await serve(
        stack,
        () => {
          throw thrown;
        },
        { logger },
      );
      const { status, body, headers } = await ask(server.url);
      expect(status).to.equal(500);
      expect(body).to.include({ title: "Internal Server Error", detail: "An unexpected error occurred" });
      expect(JSON.stringify(body)).to.not.contain("hunter2");
      expect(logger.lines).to.have.lengthOf(1);
      expect(logger.lines[0]).to.include({ level: "error" });
      expect(logger.lines[0]?.fields["err"]).to.equal(thrown);
      expect(logger.lines[0]?.fields["request_id"]).to.equal(headers.get("x-request-id"));
    });

    it("ERR-7 shows the message but never the stack with `debug: true`", async () => {
      await using server = await serve(
        stack,
        () => {
          throw new Error("the real reason");
        },
        { debug: true },
      );
      const { body } = await ask(server.url);
      expect(body.detail).to.equal("the real reason");
      expect(JSON.stringify(body)).to.not.contain(".ts:");
    });

    it("ERR-1 sends a ProblemError unchanged, and logs it only for a status of 500 or higher", async () => {
      const logger = collectingLogger();
      await using server = await serve(
        stack,
        (req, _res, next) => next(new ProblemError(Number(req.url?.slice(1)), "said so")),
        { logger },
      );
      expect((await ask(`${server.url}/404`)).body).to.include({ status: 404, detail: "said so" });
      expect(logger.lines).to.deep.equal([]);
      expect((await ask(`${server.url}/503`)).body).to.include({ status: 503, detail: "said so" });
      expect(logger.lines.map((line) => line.level)).to.deep.equal(["error"]);
    });

    it("ERR-1 keeps the status only of errors with a boolean expose", async () => {
      const errors: Record<string, object> = {
        "/exposed": Object.assign(new Error("no tea"), {
          status: 418,
          expose: true,
          headers: { "X-Pot": "1" },
        }),
        "/hidden": Object.assign(new Error("secret"), { statusCode: 503, expose: false }),
        "/upstream": Object.assign(new Error("secret"), { status: 404 }),
        "/odd": Object.assign(new Error("secret"), { status: 200, expose: true }),
        "/token": Object.assign(new Error("expired at 5"), { status: 401, expose: true }),
        "/json": Object.assign(new SyntaxError('in "secret"'), {
          status: 400,
          expose: true,
          type: "entity.parse.failed",
        }),
      };
      await using server = await serve(stack, (req, _res, next) => next(errors[req.url ?? ""]));
      const exposed = await ask(`${server.url}/exposed`);
      expect(exposed.body).to.include({ status: 418, detail: "no tea" });
      expect(exposed.headers.get("x-pot")).to.equal("1");
      expect((await ask(`${server.url}/hidden`)).body).to.include({
        status: 503,
        detail: "Service Unavailable",
      });
      expect((await ask(`${server.url}/upstream`)).body).to.include({ status: 500 });
      expect((await ask(`${server.url}/odd`)).body).to.include({ status: 500 });
      expect((await ask(`${server.url}/token`)).body).to.include({ detail: "authentication required" });
      expect((await ask(`${server.url}/json`)).body).to.include({ detail: "the body is not valid JSON" });
    });

    it("ERR-1 ERR-8 responds to any thrown value", async () => {
      const hostile = {};
      for (const name of ["message", "stack", "status", "expose", "name", "code", "headers"]) {
        Object.defineProperty(hostile, name, {
          enumerable: true,
          get() {
            throw new Error("trap");
          },
        });
      }
      const circular: Error & { cause?: unknown } = new Error("round");
      circular.cause = circular;
      const proxy = new Proxy(new Error("x"), {
        get() {
          throw new Error("trap");
        },
      });
      const revoked = Proxy.revocable({}, {});
      revoked.revoke();
      const thrown = ["text", 42, 10n, Symbol("s"), {}, [], hostile, circular, proxy, () => 1, revoked.proxy];
      const logger = collectingLogger();
      const picky = {
        ...logger,
        error(fields: object, message?: string) {
          const text = JSON.stringify(fields, (_key, value: unknown) =>
            value instanceof Error ? { message: value.message, cause: value.cause } : value,
          );
          logger.error({ text }, message);
        },
      };
      await using server = await serve(stack, (req, _res, next) => next(thrown[Number(req.url?.slice(1))]), {
        logger: picky,
      });
      for (const index of thrown.keys()) {
        const { status, body } = await ask(`${server.url}/${index}`);
        expect([index, status, body.detail]).to.deep.equal([index, 500, "An unexpected error occurred"]);
      }
      expect(logger.lines).to.have.lengthOf(thrown.length);
    });

    it("ERR-1 responds even when the logger throws or rejects", async () => {
      const throws = (): never => {
        throw new Error("disk full");
      };
      const rejects = (): never => Promise.reject(new Error("disk full")) as never;
      for (const error of [throws, rejects]) {
        const logger = { ...collectingLogger(), error };
        await using server = await serve(stack, (_req, _res, next) => next(new Error("x")), { logger });
        expect((await ask(server.url)).status).to.equal(500);
      }
    });

    it("COR-4 uses the logger in the request's context when the logger option is not set", async () => {
      const logger = collectingLogger();
      await using server = await serve(stack, (req, _res, next) => {
        openContext(req).log = logger;
        next(new Error("x"));
      });
      await ask(server.url);
      expect(logger.lines.map((line) => line.level)).to.deep.equal(["error"]);
    });

    it("ERR-8 logs the error and closes the connection when the response head has been sent", async () => {
      const logger = collectingLogger();
      await using server = await serve(
        stack,
        (_req, res, next) => {
          res.writeHead(200, { "Content-Length": "100" });
          res.write("half");
          setImmediate(() => next(new Error("late")));
        },
        { logger },
      );
      const { text } = await rawRequest(server.port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      expect(text).to.match(/half$/);
      expect(logger.lines.map((line) => line.level)).to.deep.equal(["error"]);
    });

    it("ERR-8 logs a disconnected client at debug level", async () => {
      const logger = collectingLogger();
      let failed = false;
      const gone = new EventEmitter();
      await using server = await serve(
        stack,
        (req, _res, next) => {
          req.on("error", (error) => {
            failed = true;
            next(error);
            gone.emit("gone");
          });
          req.resume();
        },
        { logger },
      );
      const socket = connect(server.port, "127.0.0.1");
      await once(socket, "connect");
      socket.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
      await once(server.server, "request");
      const goneEvent = once(gone, "gone");
      socket.destroy();
      await goneEvent;
      expect(failed).to.equal(true);
      expect(logger.lines.map((line) => line.level)).to.deep.equal(["debug"]);
    });

    it("ERR-8 logs the reset of a connection to another server as an error", async () => {
      const logger = collectingLogger();
      const reset = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
      await using server = await serve(stack, (_req, _res, next) => next(reset), { logger });
      expect((await ask(server.url)).status).to.equal(500);
      expect(logger.lines.map((line) => line.level)).to.deep.equal(["error"]);
    });

    it("ERR-8 limits the size of the log record for a thrown object with many circular references", async () => {
      const logger = collectingLogger();
      const knots = Array.from({ length: 100 }, (): Record<string, unknown> => ({}));
      for (const knot of knots) for (const [at, other] of knots.entries()) knot[`k${at}`] = other;
      await using server = await serve(stack, (_req, _res, next) => next({ knots }), { logger });
      expect((await ask(server.url)).status).to.equal(500);
      const [line] = logger.lines;
      expect(line?.level).to.equal("error");
      expect(JSON.stringify(line?.fields).length).to.be.within(1_000, 10_000);
    });

    it("makes the thrown error available through responseError(), for telemetry", async () => {
      const thrown = new Error("x");
      let seen: unknown;
      await using server = await serve(stack, (_req, res, next) => {
        res.on("close", () => (seen = responseError(res)));
        next(thrown);
      });
      await ask(server.url);
      await new Promise((resolve) => setImmediate(resolve));
      expect(seen).to.equal(thrown);
    });
  });
}

for (const [major, express] of Object.entries(expressMajors)) {
  describe(`problemHandler with errors from ${major}`, () => {
    it("ERR-1 responds with a problem to a path that cannot be decoded", async () => {
      const app = express();
      app.get("/items/:id", (_req, res) => void res.send("x"));
      app.use(problemHandler());
      await using server = await listen(app);
      const { status, body } = await ask(`${server.url}/items/%zz`);
      expect(status).to.equal(400);
      expect(body.detail).to.equal("the path is not validly percent-encoded");
    });

    it("ERR-1 ERR-19 responds to errors from express.json with a problem that does not quote the body", async () => {
      const app = express();
      app.use(express.json({ limit: 20 }));
      app.use(problemHandler());
      await using server = await listen(app);
      const post = (body: string): ReturnType<typeof ask> =>
        ask(server.url, { method: "POST", body, headers: { "Content-Type": "application/json" } });
      const malformed = await post('{"a": secret}');
      expect(malformed.body).to.include({ status: 400, detail: "the body is not valid JSON" });
      expect((await post(JSON.stringify("x".repeat(50)))).body).to.include({ status: 413 });
    });

    it("when not mounted, lets Express send the status and headers of a ProblemError", async () => {
      const app = express();
      app.set("env", "test");
      app.get("/", (_req, _res, next) => next(new ProblemError(409, "x", { headers: { "X-A": "1" } })));
      await using server = await listen(app);
      const response = await fetch(server.url);
      expect([response.status, response.headers.get("x-a")]).to.deep.equal([409, "1"]);
    });
  });
}

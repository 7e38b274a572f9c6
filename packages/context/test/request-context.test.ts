import { once } from "node:events";
import { request, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { inspect } from "node:util";
import {
  contextOf,
  currentContext,
  enterContext,
  openContext,
  RequestContext,
  runWithContext,
  type TraceReader,
} from "@svc/context";
import { expressMajors, listen, rawRequest } from "@svc/test-support";
import { expect } from "chai";

type Handler = (req: IncomingMessage, res: ServerResponse) => void | Promise<void>;

/** The same middleware chain on every kind of server: enters the context twice, then calls the handler. */
const servers: Readonly<Record<string, (handler: Handler) => RequestListener>> = {
  "bare http": (handler) => (req, res) =>
    enterContext(req, res, () => enterContext(req, res, () => void handler(req, res))),
  ...Object.fromEntries(
    Object.entries(expressMajors).map(([name, express]) => [
      name,
      (handler: Handler): RequestListener =>
        express().use(enterContext).use(enterContext).use(handler) as unknown as RequestListener,
    ]),
  ),
};

for (const [name, serve] of Object.entries(servers)) {
  describe(`the request context on ${name}`, () => {
    it("is current in the code that next() calls, even after awaits and timers", async () => {
      await using server = await listen(
        serve(async (req, res) => {
          const before = currentContext();
          await new Promise((resolve) => setTimeout(resolve, 1));
          await Promise.resolve();
          res.end(String(before === contextOf(req) && currentContext() === before && before !== undefined));
        }),
      );
      expect(await (await fetch(server.url)).text()).to.equal("true");
    });

    it("differs between requests on the same connection, kept alive or pipelined", async () => {
      const seen: (RequestContext | undefined)[] = [];
      const outside: unknown[] = [];
      await using server = await listen((req, res) => {
        outside.push(currentContext());
        serve((_req, answer) => {
          seen.push(currentContext());
          setImmediate(() => answer.end("ok"));
        })(req, res);
      });
      const one = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
      await rawRequest(server.port, one.repeat(5));
      await (await fetch(server.url)).text();
      await (await fetch(server.url)).text();
      expect(seen).to.have.length(7);
      expect(new Set(seen).size).to.equal(7);
      expect(seen).to.not.include(undefined);
      expect(outside).to.eql(Array(7).fill(undefined));
    });

    it("stays separate for concurrent requests", async () => {
      await using server = await listen(
        serve(async (req, res) => {
          openContext(req).requestId = req.url ?? "";
          for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
          res.end(currentContext()?.requestId);
        }),
      );
      const paths = Array.from({ length: 50 }, (_, index) => `/${index}`);
      const answers = await Promise.all(paths.map(async (path) => (await fetch(server.url + path)).text()));
      expect(answers).to.eql(paths);
    });

    it("is lost in listeners for a request's data and end events, where contextOf() still finds it", async () => {
      const current: unknown[] = [];
      const ofRequest: unknown[] = [];
      await using server = await listen(
        serve((req, res) => {
          const look = (): void => {
            current.push(currentContext());
            ofRequest.push(contextOf(req)?.requestId);
          };
          openContext(req).requestId = "one";
          req.once("data", () => outgoing.end("second"));
          req.on("data", look).on("end", () => {
            look();
            res.end("ok");
          });
        }),
      );
      const outgoing = request(server.url, { method: "POST" });
      // The second part of the body is sent later, so that the request emits `data` twice.
      outgoing.write("first");
      const [response] = (await once(outgoing, "response")) as [IncomingMessage];
      await once(response.resume(), "end");
      expect(current).to.include(undefined);
      expect(ofRequest.length).to.be.greaterThan(1);
      expect(new Set(ofRequest)).to.eql(new Set(["one"]));
    });
  });
}

for (const [name, express] of Object.entries(expressMajors)) {
  describe(`the request context after express.json() in ${name}`, () => {
    it("is still current", async () => {
      const app = express().use(enterContext).use(express.json());
      app.post("/", (req, res) => void res.json([req.body, currentContext() === contextOf(req)]));
      await using server = await listen(app as unknown as RequestListener);
      const answer = await fetch(server.url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: '{"a":1}',
      });
      expect(await answer.json()).to.eql([{ a: 1 }, true]);
    });
  });
}

describe("enterContext", () => {
  it("makes the context from openContext() current and calls next() once, without an argument", async () => {
    const calls: unknown[][] = [];
    await using server = await listen((req, res) => {
      const opened = openContext(req);
      enterContext(req, res, (...args: unknown[]) => {
        calls.push(args);
        res.end(String(currentContext() === opened && openContext(req) === opened));
      });
    });
    expect(await (await fetch(server.url)).text()).to.equal("true");
    expect(calls).to.eql([[]]);
  });

  it("restores a context that earlier middleware has lost", async () => {
    await using server = await listen((req, res) => {
      enterContext(req, res, () => {
        // Simulates a body parser that calls `next()` from a listener.
        req
          .resume()
          .on("end", () =>
            enterContext(req, res, () => res.end(String(currentContext() === contextOf(req)))),
          );
      });
    });
    expect(await (await fetch(server.url, { method: "POST", body: "x" })).text()).to.equal("true");
  });

  it("rethrows an error that next() throws", async () => {
    const thrown = new Error("from next");
    let caught: unknown;
    await using server = await listen((req, res) => {
      try {
        enterContext(req, res, () => {
          throw thrown;
        });
      } catch (error) {
        caught = error;
      }
      res.end(String(currentContext() === undefined));
    });
    expect(await (await fetch(server.url)).text()).to.equal("true");
    expect(caught).to.equal(thrown);
  });
});

describe("runWithContext", () => {
  it("makes a job's context current and returns what the job returns", async () => {
    const context = new RequestContext({ requestId: "job-1", tenantId: "acme" });
    const result = await runWithContext(context, async () => {
      await Promise.resolve();
      return [currentContext()?.requestId, currentContext()?.tenantId];
    });
    expect(result).to.eql(["job-1", "acme"]);
    expect(currentContext()).to.equal(undefined);
  });

  it("restores the outer context after a nested call", () => {
    const outer = new RequestContext({ requestId: "outer" });
    const inner = new RequestContext({ requestId: "inner" });
    const seen = runWithContext(outer, () => [
      runWithContext(inner, () => currentContext()?.requestId),
      currentContext()?.requestId,
    ]);
    expect(seen).to.eql(["inner", "outer"]);
  });
});

describe("RequestContext", () => {
  it("has every field from the start", () => {
    const before = performance.now();
    const context = new RequestContext();
    expect(Object.keys(context)).to.eql(
      "requestId principal tenantId tenantClaimed log startedAt enteredTrace deadline".split(" "),
    );
    expect(context.trace).to.equal(undefined);
    expect(context.requestId).to.equal("");
    expect(context.startedAt).to.be.at.least(before);
  });

  it("treats undefined as an omitted field", () => {
    expect(new RequestContext({ requestId: undefined, tenantId: undefined }).requestId).to.equal("");
  });

  it("parses the caller's trace when it is first read, and only once", () => {
    const asked: unknown[] = [];
    const trace = { traceId: "1", traceparent: "00-1", tracestate: "a=b" };
    const read: TraceReader = (...headers) => (asked.push(headers), trace);
    const context = new RequestContext();
    context.deferTrace(read, "00-1", "a=b");
    expect(asked).to.eql([]);
    expect([context.trace, context.trace]).to.eql([trace, trace]);
    expect(asked).to.eql([["00-1", "a=b"]]);
  });

  it("keeps a trace that the constructor, an assignment or an earlier deferTrace() call has set", () => {
    const own = { traceId: "1", traceparent: "00-1", tracestate: undefined };
    const other: TraceReader = () => ({ traceId: "2", traceparent: "00-2", tracestate: undefined });
    const made = new RequestContext({ trace: own });
    made.deferTrace(other, "00-2", undefined);
    expect(made.trace).to.equal(own);

    const written = new RequestContext();
    written.deferTrace(other, "00-2", undefined);
    written.trace = own;
    expect(written.trace).to.equal(own);

    const deferred = new RequestContext();
    deferred.deferTrace(() => own, "00-1", undefined);
    deferred.deferTrace(other, "00-2", undefined);
    expect(deferred.trace).to.equal(own);
    deferred.trace = undefined;
    expect(deferred.trace).to.equal(undefined);
  });

  it("is undefined for a request until openContext() creates it", () => {
    expect(contextOf({} as IncomingMessage)).to.equal(undefined);
  });
});

describe("two installed copies", () => {
  it("share a request's context and the current context", async () => {
    const url = new URL("../src/request-context.ts?copy=2", import.meta.url).href;
    const other = (await import(url)) as typeof import("@svc/context");
    expect(other.RequestContext).to.not.equal(RequestContext);
    let entries = 0;
    await using server = await listen((req, res) => {
      other.openContext(req).requestId = "shared";
      enterContext(req, res, () =>
        other.enterContext(req, res, () => {
          entries++;
          res.end(String(other.currentContext() === currentContext()) + (contextOf(req)?.requestId ?? ""));
        }),
      );
    });
    expect(await (await fetch(server.url)).text()).to.equal("trueshared");
    expect(entries).to.equal(1);
  });
});

describe("the bearer token of a context", () => {
  const bearerOf = (authorization: string | undefined) =>
    new RequestContext({}, { headers: authorization === undefined ? {} : { authorization } }).bearer;

  it("HTTP-3 is the caller's Authorization header if it contains one bearer token", () => {
    for (const header of ["Bearer abc", "bearer a.b-c_d~e+f/g==", "BEARER x"])
      expect(bearerOf(header)).to.equal(header);
    for (const header of [
      "Basic YTpi",
      "Bearer",
      "Bearer ",
      "Bearer a b",
      "Bearer a,b",
      "xBearer a",
      "Bearer a\n",
      undefined,
    ])
      expect(bearerOf(header)).to.equal(undefined);
  });

  it("is undefined in a job, and never printed", () => {
    expect(new RequestContext().bearer).to.equal(undefined);
    const context = new RequestContext({}, { headers: { authorization: "Bearer secret" } });
    expect(inspect(context, { depth: 9, showHidden: true }) + JSON.stringify(context)).to.not.contain(
      "secret",
    );
  });

  it("belongs to the request whose context was opened", () => {
    const req = { headers: { authorization: "Bearer abc" } } as IncomingMessage;
    expect(openContext(req).bearer).to.equal("Bearer abc");
  });
});

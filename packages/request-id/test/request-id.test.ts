import { once } from "node:events";
import { Agent, request, type IncomingMessage } from "node:http";
import { contextOf, currentContext, openContext, type RequestContext } from "@svc/context";
import { ConfigurationError } from "@svc/options";
import { isRequestId, mintRequestId, requestId } from "@svc/request-id";
import { listen, rawRequest } from "@svc/test-support";
import { anyCharacter } from "@svc/test-support/any-character";
import { expect } from "chai";
import fc from "fast-check";
import { servers } from "./support/servers.ts";

const TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const MINTED = /^[0-9a-f]{32}$/;

/** Returns a GET request with a Host header and the given header lines. */
function get(...lines: readonly string[]): string {
  return ["GET / HTTP/1.1", "Host: x", "Connection: close", ...lines, "", ""].join("\r\n");
}

for (const [name, serve] of Object.entries(servers)) {
  describe(`requestId() on ${name}`, () => {
    /** Sends one request through requestId() and returns the response and the context that the handler saw. */
    async function ask(
      bytes: string | Buffer,
      middleware = [requestId()],
    ): Promise<{
      readonly text: string;
      readonly echoed: string | undefined;
      readonly context: RequestContext;
    }> {
      let seen: RequestContext | undefined;
      await using server = await listen(
        serve(middleware, (req, res) => {
          seen = currentContext();
          res.end(String(seen === contextOf(req)));
        }),
      );
      const answer = await rawRequest(server.port, bytes);
      expect(answer.status).to.equal(200);
      expect(answer.body).to.include("true");
      if (seen === undefined) throw new Error("the handler saw no context");
      return { text: answer.text, echoed: answer.headers["x-request-id"], context: seen };
    }

    it("COR-1 COR-3 reuses the caller's X-Request-ID and echoes it", async () => {
      const { echoed, context } = await ask(get("X-Request-ID: order-7/retry:2"));
      expect(echoed).to.equal("order-7/retry:2");
      expect(context.requestId).to.equal("order-7/retry:2");
    });

    it("COR-2 COR-3 COR-8 mints 32 lowercase hex characters for a request without an id and echoes them", async () => {
      const { echoed, context } = await ask(get());
      expect(echoed).to.match(MINTED);
      expect(context.requestId).to.equal(echoed);
    });

    it("COR-3 writes the header name as X-Request-ID, once", async () => {
      const { text } = await ask(get("x-request-id: abc"));
      expect(text.match(/^x-request-id:.*$/gim)).to.eql(["X-Request-ID: abc"]);
    });

    it("COR-6 accepts an id of 1 to 128 visible ASCII characters", async () => {
      for (const id of ["a", "~", "!", "a,b", '"<>\\', "x".repeat(128)]) {
        expect((await ask(get(`X-Request-ID: ${id}`))).echoed).to.equal(id);
      }
    });

    it("COR-6 COR-7 replaces an id that is empty, longer than 128 characters or not visible ASCII", async () => {
      for (const id of [
        "",
        "x".repeat(129),
        "x".repeat(10_000),
        "a b",
        "a\tb",
        "caf\u00e9",
        "\u00ff",
        "a\u0080",
      ]) {
        const { echoed, context } = await ask(Buffer.from(get(`X-Request-ID: ${id}`), "latin1"));
        expect(echoed, JSON.stringify(id)).to.match(MINTED);
        expect(context.requestId).to.equal(echoed);
      }
    });

    it("COR-7 replaces the id when the header is repeated, even with equal values", async () => {
      for (const [one, two] of [
        ["a", "b"],
        ["same", "same"],
        ["", "b"],
        ["a", ""],
      ]) {
        const { echoed } = await ask(get(`X-Request-ID: ${one}`, `X-Request-ID: ${two}`));
        expect(echoed, `${one}, ${two}`).to.match(MINTED);
      }
    });

    it("COR-9 keeps traceparent and tracestate unchanged", async () => {
      const { context } = await ask(
        get(`Traceparent: ${TRACEPARENT}`, "TraceState: congo=t61rcWkgMzE , rojo=1"),
      );
      expect(context.trace).to.eql({
        traceId: "0af7651916cd43dd8448eb211c80319c",
        traceparent: TRACEPARENT,
        tracestate: "congo=t61rcWkgMzE , rojo=1",
      });
    });

    it("COR-9 joins repeated tracestate headers in their order", async () => {
      const { context } = await ask(
        get("tracestate: b=2", `traceparent: ${TRACEPARENT}`, "tracestate:", "tracestate: a=1"),
      );
      expect(context.trace?.tracestate?.replaceAll(" ", "")).to.equal("b=2,,a=1");
    });

    it("COR-11 drops an invalid traceparent with its tracestate, and serves the request", async () => {
      const { context, echoed } = await ask(get("traceparent: 00-zz", "tracestate: a=1", "X-Request-ID: r"));
      expect(context.trace).to.equal(undefined);
      expect(echoed).to.equal("r");
    });

    it("COR-11 drops two traceparent headers, even if they are equal", async () => {
      const line = `traceparent: ${TRACEPARENT}`;
      expect((await ask(get(line, line, "tracestate: a=1"))).context.trace).to.equal(undefined);
      expect((await ask(get(line, "traceparent:"))).context.trace).to.equal(undefined);
    });

    it("COR-9 drops a tracestate without a traceparent", async () => {
      expect((await ask(get("tracestate: a=1"))).context.trace).to.equal(undefined);
    });

    it("keeps the id of the first requestId() when it is mounted more than once", async () => {
      // Each of the two factories with `generate` calls it once as a check, so the first request gets the third id.
      let made = 0;
      const generate = (): string => `made-${made++}`;
      const { echoed, context } = await ask(get(), [
        requestId({ generate }),
        requestId(),
        requestId({ generate }),
      ]);
      expect(echoed).to.equal("made-2");
      expect(context.requestId).to.equal("made-2");
      expect(made).to.equal(3);
    });

    it("keeps an id and a trace that another middleware has set, and echoes the id", async () => {
      const trace = { traceId: "1".repeat(32), traceparent: "own", tracestate: undefined };
      const { echoed, context } = await ask(get("X-Request-ID: caller", `traceparent: ${TRACEPARENT}`), [
        (req, _res, next) => {
          Object.assign(openContext(req), { requestId: "given-before", trace });
          next();
        },
        requestId(),
      ]);
      expect(echoed).to.equal("given-before");
      expect(context.trace).to.equal(trace);
    });

    it("ignores the caller's headers with trustIncoming: false", async () => {
      const { echoed, context } = await ask(get("X-Request-ID: caller", `traceparent: ${TRACEPARENT}`), [
        requestId({ trustIncoming: false }),
      ]);
      expect(echoed).to.match(MINTED);
      expect(context.trace).to.equal(undefined);
    });

    it("calls generate only for a request without an id", async () => {
      const own = [requestId({ generate: () => "own" })];
      expect((await ask(get(), own)).echoed).to.equal("own");
      expect((await ask(get("X-Request-ID: caller"), own)).echoed).to.equal("caller");
    });

    it("COR-8 mints an id when generate throws or returns an illegal id", async () => {
      const outcomes = ["legal", "two words", "line\r\nbreak", "", 7, undefined];
      let turn = 0;
      const generate = (): string => {
        if (turn === outcomes.length) throw new Error("out of ids");
        return outcomes[turn++] as string;
      };
      const own = [requestId({ generate })];
      for (let each = 1; each <= outcomes.length; each++)
        expect((await ask(get(), own)).echoed).to.match(MINTED);
    });

    it("does not set the header on a response whose headers are already sent", async () => {
      const begun = [
        (_req: IncomingMessage, res: { flushHeaders(): void }, next: () => void): void => {
          res.flushHeaders();
          next();
        },
        requestId(),
      ];
      const { echoed, context } = await ask(get(), begun);
      expect(echoed).to.equal(undefined);
      expect(context.requestId).to.match(MINTED);
    });

    it("COR-7 echoes a legal id for any input (10,000 requests over the four servers)", async function () {
      this.timeout(60_000);
      let inHandler = "";
      await using server = await listen(
        serve([requestId()], (req, res) => {
          inHandler = contextOf(req)?.requestId ?? "";
          res.end();
        }),
      );
      const text = (min: number, max: number): fc.Arbitrary<string> =>
        fc.string({
          unit: fc.integer({ min, max }).map((code) => String.fromCharCode(code)),
          maxLength: 140,
        });
      // Node's parser rejects all control characters except the tab.
      const anything = fc.oneof(
        text(0x21, 0x7e),
        text(0x20, 0x7e),
        text(0x80, 0xff),
        text(0x09, 0xff).map((id) => id.replace(/[^\t\x20-\x7e\x80-\xff]/g, "")),
      );
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      await fc.assert(
        fc.asyncProperty(anything, async (id) => {
          const outgoing = request(server.url, { agent, headers: { "x-request-id": id } }).end();
          const [response] = (await once(outgoing, "response")) as [IncomingMessage];
          response.resume();
          await once(response, "end");
          const echoed = response.headers["x-request-id"];
          const sent = id.replace(/^[ \t]+|[ \t]+$/g, "");
          expect(echoed).to.equal(inHandler);
          expect(isRequestId(echoed)).to.equal(true);
          if (isRequestId(sent)) expect(echoed).to.equal(sent);
          else expect(echoed).to.match(MINTED);
        }),
        { numRuns: 2_500 },
      );
      agent.destroy();
    });

    it("gives every request of a connection its own id, and leaks no context outside the request", async () => {
      const outside: unknown[] = [];
      await using server = await listen((req, res) => {
        outside.push(currentContext());
        serve([requestId()], (_req, answer) => {
          setImmediate(() => answer.end(`[${currentContext()?.requestId}]`));
        })(req, res);
      });
      const one = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
      const { text } = await rawRequest(server.port, one.repeat(4));
      const bodies = [...text.matchAll(/\[(\w+)\]/g)].map((match) => match[1]);
      const headers = [...text.matchAll(/^X-Request-ID: (\w+)/gm)].map((match) => match[1]);
      expect(bodies).to.have.length(4);
      expect(headers).to.eql(bodies);
      expect(new Set(bodies).size).to.equal(4);
      expect(outside).to.eql([undefined, undefined, undefined, undefined]);
    });
  });
}

describe("requestId() as a factory", () => {
  it("reports all unknown and invalid options in one error", () => {
    expect(() => requestId({ trustIncomming: true } as never)).to.throw(
      ConfigurationError,
      /trustIncomming: is unknown; did you mean trustIncoming\?/,
    );
    expect(() => requestId({ trustIncoming: "yes", generate: "uuid" } as never)).to.throw(
      ConfigurationError,
      /2 faults[^]*trustIncoming: must be true or false[^]*generate: must be a function/,
    );
  });

  it("rejects a `generate` function that throws or returns an illegal id, and shows the id", () => {
    expect(() => requestId({ generate: () => "two words" })).to.throw(
      ConfigurationError,
      /generate: must return ids of 1 to 128 visible ASCII characters without spaces; it returned "two words"/,
    );
    expect(() => requestId({ generate: () => "" })).to.throw(ConfigurationError, /it returned ""/);
    expect(() => requestId({ generate: () => 7 as never })).to.throw(
      ConfigurationError,
      /it returned number/,
    );
    const cause = new Error("no entropy");
    const construct = (): unknown =>
      requestId({
        generate: () => {
          throw cause;
        },
      });
    expect(construct)
      .to.throw(ConfigurationError, /it threw/)
      .with.property("cause", cause);
  });

  it("rejects a request as options, which it receives when the factory itself is passed to app.use()", () => {
    const asMiddleware = requestId as unknown as (req: object) => void;
    expect(() => asMiddleware({ headers: {}, method: "GET", socket: {} })).to.throw(
      ConfigurationError,
      /write app\.use\(requestId\(\)\)/,
    );
  });

  it("treats undefined as an omitted option, and returns a named function", () => {
    expect(requestId({ trustIncoming: undefined, generate: undefined })).to.have.property(
      "name",
      "requestIdMiddleware",
    );
  });
});

describe("mintRequestId", () => {
  it("COR-8 returns 32 lowercase hex characters, different on each call", () => {
    const ids = Array.from({ length: 10_000 }, mintRequestId);
    expect(new Set(ids).size).to.equal(ids.length);
    expect(ids.every((id) => MINTED.test(id))).to.equal(true);
  });

  it("COR-8 uses every hex digit at every position", () => {
    const seen = Array.from({ length: 32 }, () => new Set<string>());
    for (let turn = 0; turn < 2_000; turn++) {
      for (const [place, digit] of mintRequestId().split("").entries()) seen[place]?.add(digit);
    }
    expect(seen.map((digits) => digits.size)).to.eql(Array(32).fill(16));
  });
});

describe("isRequestId", () => {
  it("COR-6 accepts a random string only if it has 1 to 128 visible ASCII characters", () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 150 }), (text) => {
        expect(isRequestId(text)).to.equal(/^[!-~]{1,128}$/.test(text) && !text.includes("\n"));
      }),
    );
  });

  it("COR-6 rejects values that are not strings, and a line break at the end", () => {
    for (const value of [undefined, null, 7, ["a"], {}, "a\n", "a\r"])
      expect(isRequestId(value)).to.equal(false);
  });
});

import { once } from "node:events";
import { createServer, type ServerOptions } from "node:http";
import { connect } from "node:net";
import { expect } from "chai";
import { ConfigurationError } from "@svc/options";
import { attachProblems, type AttachProblemsOptions, notFound, problemServerOptions } from "@svc/problem";
import {
  collectingLogger,
  expressMajors,
  listen,
  type Listening,
  type RawAnswer,
  rawRequest,
} from "@svc/test-support";
import type { RequestListener } from "node:http";
import { type ProblemBody, type Stack, stacks } from "./support/stacks.ts";

interface Guarded {
  readonly seen: string[];
  readonly listening: Listening;
}

function handlerOf(stack: Stack, seen: string[]): RequestListener {
  const ok: RequestListener = (req, res) => {
    seen.push(`${req.method} ${req.url}`);
    res.end("reached");
  };
  if (stack === "bare http") return ok;
  const app = expressMajors[stack]();
  app.use(ok);
  return app;
}

async function guarded(
  stack: Stack,
  options?: AttachProblemsOptions,
  serverOptions: ServerOptions = problemServerOptions,
): Promise<Guarded> {
  const seen: string[] = [];
  const server = createServer(serverOptions, handlerOf(stack, seen));
  attachProblems(server, options);
  return { seen, listening: await listen(server) };
}

function expectProblem(answer: Awaited<ReturnType<typeof rawRequest>>, status: number): ProblemBody {
  expect(answer.status, answer.text).to.equal(status);
  expect(answer.headers["content-type"]).to.equal("application/problem+json");
  expect(answer.headers["connection"]).to.equal("close");
  expect(Number(answer.headers["content-length"])).to.equal(answer.body.length);
  const body = JSON.parse(answer.body) as ProblemBody;
  expect(body).to.include({ type: "about:blank", status });
  expect(body).to.have.all.keys("type", "title", "status", "detail", "instance", "request_id");
  expect(body.request_id).to.equal(answer.headers["x-request-id"]);
  expect(body.request_id).to.match(/^[!-~]{1,128}$/);
  return body;
}

const refused: Readonly<Record<string, readonly [bytes: string, status: number]>> = {
  "a NUL in a header": ["GET /a HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n", 400],
  "a control character in a header": ["GET /a HTTP/1.1\r\nHost: a\r\nX: a\x01b\r\n\r\n", 400],
  "a bare line feed in a header": ["GET /a HTTP/1.1\r\nHost: a\r\nX: a\nY b\r\n\r\n", 400],
  "Content-Length with chunked coding": [
    "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    400,
  ],
  "two lengths": ["POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef", 400],
  "a length that is not a number": ["POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n", 400],
  "a folded header": ["GET /a HTTP/1.1\r\n Folded: x\r\nHost: a\r\n\r\n", 400],
  "no Host": ["GET /a HTTP/1.1\r\n\r\n", 400],
  "two Hosts": ["GET /a HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400],
  "an unknown method": ["BREW /a HTTP/1.1\r\nHost: a\r\n\r\n", 400],
  "a method in lower case": ["get /a HTTP/1.1\r\nHost: a\r\n\r\n", 400],
  "an unknown version": ["GET /a HTTP/9.9\r\nHost: a\r\n\r\n", 400],
  "TLS on a plain port": ["\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400],
  "an unknown expectation": ["GET /a HTTP/1.1\r\nHost: a\r\nExpect: 200-maybe\r\n\r\n", 417],
  "a header of 20 KB": [`GET /a HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(20_000)}\r\n\r\n`, 431],
  "2,100 headers": [`GET /a HTTP/1.1\r\nHost: a\r\n${"X-Yyyyy: z\r\n".repeat(2_100)}\r\n`, 431],
  "a path of 20 KB": [`GET /${"x".repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 431],
};

for (const stack of stacks) {
  describe(`attachProblems on ${stack}`, () => {
    for (const [what, [bytes, status]] of Object.entries(refused)) {
      it(`ERR-21 ERR-5 responds to ${what} with a ${status} problem before any route`, async () => {
        const { seen, listening } = await guarded(stack);
        await using server = listening;
        const answer = await rawRequest(server.port, Buffer.from(bytes, "latin1"));
        expectProblem(answer, status);
        expect(seen).to.deep.equal([]);
      });
    }

    it("ERR-21 responds to CONNECT with a 405 problem", async () => {
      const { seen, listening } = await guarded(stack);
      await using server = listening;
      const answer = await rawRequest(server.port, "CONNECT b:443 HTTP/1.1\r\nHost: b:443\r\n\r\n");
      expectProblem(answer, 405);
      expect(answer.headers).to.have.property("allow", "");
      expect(seen).to.deep.equal([]);
    });

    it("serves an Upgrade request as a normal request when the server has no upgrade listener", async () => {
      const { seen, listening } = await guarded(stack);
      await using server = listening;
      const upgrade = "Connection: Upgrade, close\r\nUpgrade: websocket\r\n";
      const { status, body } = await rawRequest(server.port, `GET /a HTTP/1.1\r\nHost: a\r\n${upgrade}\r\n`);
      expect([status, seen]).to.deep.equal([200, ["GET /a"]]);
      expect(body).to.contain("reached");
    });

    it("serves valid requests, including HTTP/1.0 without Host", async () => {
      const { seen, listening } = await guarded(stack);
      await using server = listening;
      const first = await rawRequest(server.port, "GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
      const old = await rawRequest(server.port, "GET /b HTTP/1.0\r\n\r\n");
      expect([first.status, old.status]).to.deep.equal([200, 200]);
      expect(seen).to.deep.equal(["GET /a", "GET /b"]);
    });

    it("ERR-21 responds with a 408 problem to a request that arrives too slowly, and logs one debug record", async () => {
      const logger = collectingLogger();
      const { listening } = await guarded(
        stack,
        { logger },
        {
          ...problemServerOptions,
          headersTimeout: 100,
          requestTimeout: 100,
          connectionsCheckingInterval: 20,
        },
      );
      await using server = listening;
      expectProblem(await rawRequest(server.port, "GET /slow HTTP/1.1\r\nHost: a\r\nX-"), 408);
      expect(logger.lines.map((line) => [line.level, line.fields["code"]])).to.deep.equal([
        ["debug", "ERR_HTTP_REQUEST_TIMEOUT"],
      ]);
    });
  });
}

describe("attachProblems", () => {
  it("refuses unknown options", () => {
    expect(() => attachProblems(createServer(), { loger: collectingLogger() } as never)).to.throw(
      ConfigurationError,
      "did you mean logger?",
    );
  });

  it("accepts any logger with debug() and error(), such as the console", () => {
    expect(() => attachProblems(createServer(), { logger: console })).not.to.throw();
  });

  it("ERR-21 responds with a 400 problem to an invalid chunk in a body", async () => {
    const server = createServer(problemServerOptions, (req) => void req.resume());
    attachProblems(server);
    await using listening = await listen(server);
    const head = "POST /up?x HTTP/1.1\r\nHost: a\r\nX-Request-ID: mine\r\nTransfer-Encoding: chunked\r\n\r\n";
    const body = expectProblem(await rawRequest(listening.port, `${head}zz\r\n`), 400);
    expect(body.instance).to.equal("/up");
  });

  it("ERR-21 responds with a 413 problem to chunk extensions over the limit", async () => {
    const server = createServer(problemServerOptions, (req) => void req.resume());
    attachProblems(server);
    await using listening = await listen(server);
    const head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    expectProblem(await rawRequest(listening.port, `${head}2;a=${"x".repeat(20_000)}`), 413);
  });

  it("ERR-21 responds with a 503 problem to a request beyond maxRequestsPerSocket", async () => {
    let served = 0;
    const server = createServer(problemServerOptions, (_req, res) => {
      served += 1;
      // Without this header, Node closes the connection after its last allowed request.
      res.setHeader("Connection", "keep-alive");
      res.end("reached");
    });
    server.maxRequestsPerSocket = 1;
    attachProblems(server);
    await using listening = await listen(server);
    const socket = connect(listening.port, "127.0.0.1");
    const chunks: string[] = [];
    socket.on("data", (chunk: Buffer) => chunks.push(chunk.toString()));
    socket.write("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n");
    await once(socket, "data");
    socket.write("GET /2?x HTTP/1.1\r\nHost: a\r\n\r\n");
    await once(socket, "close");
    const text = chunks.join("");
    expect(served).to.equal(1);
    const second = text.slice(text.indexOf("reached") + "reached".length);
    expect(second).to.match(/^HTTP\/1\.1 503 Service Unavailable\r\n/);
    expect(second).to.contain("Content-Type: application/problem+json\r\n");
    expect(JSON.parse(second.slice(second.indexOf("{")))).to.include({ status: 503, instance: "/2" });
  });

  it("ERR-21 refuses targets that are neither a path nor a URL", async () => {
    const server = createServer(problemServerOptions, (_req, res) => void res.end("reached"));
    attachProblems(server);
    await using listening = await listen(server);
    for (const target of ["http://", "http://?a", "https://a:99999/b", "ftp://a/b"]) {
      const answer = await rawRequest(listening.port, `GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`);
      expect(expectProblem(answer, 400).detail).to.equal("the target of the request is not valid");
    }
    for (const target of ["/", "*", "http://a", "HTTPS://a:8443/b?c"]) {
      const bytes = `OPTIONS ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
      expect((await rawRequest(listening.port, bytes)).body).to.equal("reached");
    }
  });

  it("ERR-21 refuses a Transfer-Encoding other than a single `chunked`, even if Node accepts it", async () => {
    const server = createServer(problemServerOptions, (_req, res) => void res.end("reached"));
    attachProblems(server);
    await using listening = await listen(server);
    const post = (lines: string): Promise<RawAnswer> =>
      rawRequest(
        listening.port,
        `POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${lines}\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
      );
    for (const value of [
      "chunked chunked",
      ", chunked",
      "gzip, chunked",
      "chunked\r\nTransfer-Encoding: chunked",
    ]) {
      expectProblem(await post(`Transfer-Encoding: ${value}`), 400);
    }
    expect((await post("transfer-encoding: Chunked")).body).to.equal("reached");
  });

  it("ERR-21 never writes a problem into a response that has begun, or in place of a pending response", async () => {
    const server = createServer(problemServerOptions, (req, res) => {
      if (req.url === "/open") {
        res.writeHead(200, { "Content-Length": "100" });
        res.write("half");
      }
    });
    attachProblems(server);
    await using listening = await listen(server);
    const open = await rawRequest(listening.port, "GET /open HTTP/1.1\r\nHost: a\r\n\r\n\0garbage\r\n\r\n");
    expect(open.text).to.not.contain("problem");
    const owed = await rawRequest(listening.port, "GET /owed HTTP/1.1\r\nHost: a\r\n\r\n\0garbage\r\n\r\n");
    expect(owed.text).to.equal("");
  });

  it("ERR-21 responds to a valid request before it refuses the malformed request pipelined after it", async () => {
    const server = createServer(problemServerOptions, (_req, res) => void res.end("fine"));
    attachProblems(server);
    await using listening = await listen(server);
    const { text } = await rawRequest(
      listening.port,
      "GET / HTTP/1.1\r\nHost: a\r\n\r\nBREW / HTTP/1.1\r\n\r\n",
    );
    expect(text).to.match(/^HTTP\/1\.1 200 /);
    expect(text.match(/HTTP\/1\.1 /g)).to.have.lengthOf.at.most(2);
  });

  it("COR-1 ERR-21 uses the id from requestIdFrom, or else the caller's id", async () => {
    const plain = createServer(problemServerOptions, notFound());
    attachProblems(plain);
    const configured = createServer(problemServerOptions, notFound());
    attachProblems(configured, { requestIdFrom: (req) => `edge-${String(req.headers["x-edge"])}` });
    await using first = await listen(plain);
    await using second = await listen(configured);
    const bytes = "GET / HTTP/1.1\r\nX-Request-ID: mine\r\nX-Edge: 7\r\n\r\n";
    expect(expectProblem(await rawRequest(first.port, bytes), 400).request_id).to.equal("mine");
    expect(expectProblem(await rawRequest(second.port, bytes), 400).request_id).to.equal("edge-7");
  });

  it("ERR-4 ERR-21 names the path of a request that it could not parse, when its first line is valid", async () => {
    const server = createServer(problemServerOptions, notFound());
    attachProblems(server);
    await using listening = await listen(server);
    const parsed = await rawRequest(listening.port, "GET /a/b?secret HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n");
    expect(expectProblem(parsed, 400).instance).to.equal("/a/b");
    const garbage = await rawRequest(listening.port, "\x00\x01\x02\r\n\r\n");
    expect(expectProblem(garbage, 400).instance).to.equal("");
  });

  it("ERR-21 responds with a 400 problem on a server without problemServerOptions, and ignores a second call", async () => {
    const server = createServer(notFound());
    attachProblems(server);
    attachProblems(server);
    await using listening = await listen(server);
    expectProblem(await rawRequest(listening.port, "GET / HTTP/1.1\r\n\r\n"), 400);
    expect(server.listenerCount("clientError")).to.equal(1);
  });

  it("leaves the check of the Host header to Node on a server without a request listener", async () => {
    const server = createServer(problemServerOptions);
    attachProblems(server);
    server.on("request", (_req, res) => void res.end("reached"));
    await using listening = await listen(server);
    const { status, text } = await rawRequest(listening.port, "GET / HTTP/1.1\r\n\r\n");
    expect(status).to.equal(400);
    expect(text).to.not.contain("reached");
  });

  it("leaves CONNECT to the application's own connect listener", async () => {
    const server = createServer(problemServerOptions, notFound());
    attachProblems(server);
    server.on("connect", (_req, socket) => void socket.end("HTTP/1.1 200 OK\r\n\r\n"));
    await using listening = await listen(server);
    const { text } = await rawRequest(listening.port, "CONNECT b:1 HTTP/1.1\r\nHost: b:1\r\n\r\n");
    expect(text).to.equal("HTTP/1.1 200 OK\r\n\r\n");
  });

  it("ERR-21 responds, and the process survives, when requestIdFrom or the logger throws or rejects", async () => {
    const fail = (): never => {
      throw new Error("the application's");
    };
    const logger = { ...collectingLogger(), debug: fail };
    const { listening } = await guarded("bare http", { logger, requestIdFrom: fail });
    await using server = listening;
    expectProblem(await rawRequest(server.port, "GET / HTTP/1.1\r\n\r\n"), 400);
    const { listening: second } = await guarded("bare http", { logger });
    await using other = second;
    expectProblem(await rawRequest(other.port, "no HTTP\r\n\r\n"), 400);
    const late = (): never => Promise.reject(new Error("the application's")) as never;
    const { listening: third } = await guarded("bare http", {
      logger: { ...logger, debug: late },
      requestIdFrom: late,
    });
    await using last = third;
    expectProblem(await rawRequest(last.port, "GET / HTTP/1.1\r\n\r\n"), 400);
  });

  it("ERR-21 logs fewer debug records than there are bad requests", async () => {
    const logger = collectingLogger();
    const server = createServer(problemServerOptions, notFound());
    attachProblems(server, { logger });
    await using listening = await listen(server);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => rawRequest(listening.port, "NO\r\n\r\n")),
    );
    expect(answers.map((answer) => answer.status)).to.deep.equal(Array.from({ length: 20 }, () => 400));
    expect(logger.lines.length).to.be.lessThan(20);
  });
});

import { rawRequest, until } from "@svc/test-support";
import { expect } from "chai";
import { once } from "node:events";
import { type IncomingMessage, request, type ServerResponse } from "node:http";
import { startGateway, startUpstream } from "./support/servers.ts";
import { startTcp } from "./support/tcp.ts";

const get = "GET /api HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

describe("a response", () => {
  it("reaches the client with its status, headers, several Set-Cookie and its body", async () => {
    await using upstream = await startUpstream((_req, res) => {
      res.writeHead(418, [
        ["Set-Cookie", "a=1"],
        ["Set-Cookie", "b=2"],
        ["X-Caf", "caf\u00e9"],
        ["Content-Encoding", "br"],
        ["ETag", '"1"'],
        ["Content-Length", "3"],
      ] as never);
      // With a string, Node would encode the headers as UTF-8 too.
      res.end(Buffer.from("abc"));
    });
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
    const answer = await rawRequest(server.port, get);
    expect(answer.status).to.equal(418);
    expect(answer.text.match(/^set-cookie: .*$/gm)).to.deep.equal(["set-cookie: a=1", "set-cookie: b=2"]);
    expect(answer.headers).to.include({
      etag: '"1"',
      "content-encoding": "br",
      "x-caf": "caf\u00e9",
      "content-length": "3",
    });
    expect(answer.body).to.equal("abc");
  });

  it("is passed on without connection-specific headers and headers that Connection names", async () => {
    await using upstream = await startUpstream((_req, res) => {
      res.writeHead(200, {
        Connection: "keep-alive, X-Hop",
        "Keep-Alive": "timeout=99",
        "X-Hop": "1",
        "Proxy-Authenticate": "Basic",
        Trailer: "X-Sum",
        "X-Kept": "1",
        "Transfer-Encoding": "chunked",
      });
      res.write("abc");
      res.addTrailers({ "X-Sum": "9" });
      res.end();
    });
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
    const answer = await rawRequest(server.port, get);
    expect(answer.headers).to.include({ "x-kept": "1", connection: "close", "transfer-encoding": "chunked" });
    expect(answer.headers).to.not.have.any.keys(
      "keep-alive",
      "x-hop",
      "proxy-authenticate",
      "trailer",
      "x-sum",
    );
    expect(answer.body).to.equal("3\r\nabc\r\n0\r\n\r\n");
  });

  it("has no body for HEAD, 204 and 304, and keeps Content-Length for HEAD", async () => {
    await using upstream = await startUpstream((req, res) => {
      const status = Number(req.url?.slice("/api/".length));
      if (status === 200) res.setHeader("Content-Length", "5");
      if (status === 304) res.setHeader("ETag", '"1"');
      res.statusCode = status;
      res.end(status === 200 ? "12345" : undefined);
    });
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
    const head = await rawRequest(server.port, get.replace("GET /api", "HEAD /api/200"));
    expect(head.headers).to.include({ "content-length": "5" });
    expect(head.body).to.equal("");
    for (const status of [204, 304]) {
      const answer = await rawRequest(server.port, get.replace("/api", `/api/${status}`));
      expect(answer.status).to.equal(status);
      expect(answer.body).to.equal("");
    }
  });

  it("reaches the client without the interim responses that precede it", async () => {
    await using upstream = await startUpstream((_req, res) => {
      res.writeProcessing();
      res.writeEarlyHints({ link: "</a.css>; rel=preload" });
      res.end("final");
    });
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
    const answer = await rawRequest(server.port, get);
    expect(answer.text).to.match(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answer.text).to.include("final").and.not.include("preload");
  });

  it("replaces headers of the service, and adds to its Set-Cookie and Vary", async () => {
    await using upstream = await startUpstream((_req, res) => {
      res.writeHead(200, { "Set-Cookie": "b=2", Vary: "Accept", "Cache-Control": "public" });
      res.end();
    });
    const before = (_req: unknown, res: { setHeader(name: string, value: string): void }): void => {
      res.setHeader("Set-Cookie", "a=1");
      res.setHeader("Vary", "Origin");
      res.setHeader("Cache-Control", "no-store");
      res.setHeader("X-Frame-Options", "DENY");
    };
    await using server = await startGateway(
      { routes: [{ prefix: "/api", targets: [upstream.url] }] },
      { before },
    );
    const response = await fetch(`${server.url}/api`);
    expect(response.headers.getSetCookie()).to.deep.equal(["a=1", "b=2"]);
    expect(response.headers.get("vary")).to.equal("Origin, Accept");
    expect(response.headers.get("cache-control")).to.equal("public");
    expect(response.headers.get("x-frame-options")).to.equal("DENY");
  });

  it("is sent piece by piece without delay, its head even before the first byte of its body", async () => {
    let respond: ((text: string) => void) | undefined;
    await using upstream = await startUpstream((_req, res) => {
      res.writeHead(200, { "Content-Type": "text/event-stream" });
      res.flushHeaders();
      respond = (text) => void res.write(text);
    });
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
    const response = await fetch(`${server.url}/api`);
    expect(response.headers.get("content-type")).to.equal("text/event-stream");
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (const text of ["data: 1\n\n", "data: 2\n\n"]) {
      respond?.(text);
      expect((await reader?.read())?.value).to.equal(text);
    }
    await reader?.cancel();
  });

  it("ends the client's connection if the target closes its connection before the end of the body", async () => {
    for (const lines of ["Content-Length: 100", "Transfer-Encoding: chunked"]) {
      await using target = await startTcp((socket) => {
        socket.once("data", () => {
          socket.write(`HTTP/1.1 200 OK\r\n${lines}\r\n\r\n5\r\nhello\r\n`);
          setImmediate(() => setImmediate(() => socket.destroy()));
        });
      });
      await using server = await startGateway({ routes: [{ prefix: "/api", targets: [target.url] }] });
      const asked = request(`${server.url}/api`).end();
      const [response] = (await once(asked, "response")) as [IncomingMessage];
      const error = await once(response.resume(), "error").then(([error]) => error as NodeJS.ErrnoException);
      expect(error.code, lines).to.equal("ECONNRESET");
      expect(response.complete).to.equal(false);
      expect(server.logger.at("warn")).to.include("a service behind the gateway broke off its response");
      expect(server.logger.texts.join("\n")).to.not.include("127.0.0.1");
    }
  });

  it("is replaced by 502 if it is not valid HTTP", async () => {
    const invalid = {
      "two lengths": "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
      "length and chunks":
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
      garbage: "SSH-2.0-OpenSSH_9.6\r\n",
      "an upgrade without a request for it":
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
      "a header without colon": "HTTP/1.1 200 OK\r\nbroken\r\n\r\n",
      "headers that are too large": `HTTP/1.1 200 OK\r\nX-Large: ${"x".repeat(100_000)}\r\n\r\n`,
      "100 Continue": "HTTP/1.1 100 Continue\r\n\r\n",
      nothing: "",
    };
    for (const [what, bytes] of Object.entries(invalid)) {
      await using target = await startTcp((socket) => socket.once("data", () => socket.end(bytes)));
      await using server = await startGateway({ routes: [{ prefix: "/api", targets: [target.url] }] });
      const response = await fetch(`${server.url}/api`);
      expect(response.status, what).to.equal(502);
      const text = await response.text();
      expect(JSON.parse(text), what).to.include({
        detail: "the service behind /api sent an invalid response",
      });
      expect(text).to.not.include("127.0.0.1");
      expect(server.errors, what).to.have.lengthOf(1);
      expect((server.errors[0] as Error).cause, what).to.be.instanceOf(Error);
    }
  });

  it("aborts the request to the target if another middleware ends the response", async () => {
    let closed = 0;
    await using upstream = await startUpstream((_req, res) => {
      res.on("close", () => (closed += 1));
      const timer = setInterval(() => res.write("x"), 1);
      res.on("close", () => clearInterval(timer));
    });
    let response: ServerResponse | undefined;
    const before = (_req: unknown, res: ServerResponse): void => void (response = res);
    await using server = await startGateway(
      { routes: [{ prefix: "/api", targets: [upstream.url] }] },
      { before },
    );
    const received = await fetch(`${server.url}/api`);
    response?.end("end");
    expect(await received.text()).to.match(/^x*end$/);
    await until("the request to the target is aborted", () => closed === 1);
    expect(server.errors).to.deep.equal([]);
  });

  it("is dropped if another middleware has responded first", async () => {
    let closed = 0;
    await using upstream = await startUpstream((_req, res) => {
      res.on("close", () => (closed += 1));
    });
    const before = (_req: unknown, res: ServerResponse): void => {
      setImmediate(() => res.writeHead(503).end("too late"));
    };
    await using server = await startGateway(
      { routes: [{ prefix: "/api", targets: [upstream.url] }] },
      { before },
    );
    const response = await fetch(`${server.url}/api`);
    expect(await response.text()).to.equal("too late");
    await until("the request to the target is aborted", () => closed === 1 || upstream.received.length === 0);
    expect(server.errors).to.deep.equal([]);
  });
});

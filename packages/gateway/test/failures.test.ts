import { rawRequest, until } from "@svc/test-support";
import { expect } from "chai";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import {
  closedOrigin,
  problemOf,
  signIn,
  startGateway,
  startUpstream,
  testClock,
} from "./support/servers.ts";
import { startTcp } from "./support/tcp.ts";

describe("a proxied request", () => {
  it("gets 503 with Retry-After if no connection can be made", async () => {
    await using server = await startGateway({
      routes: [{ prefix: "/api", targets: [await closedOrigin()] }],
    });
    const response = await fetch(`${server.url}/api`, { method: "POST", body: "abc" });
    expect(response.headers.get("retry-after")).to.equal("1");
    expect(response.headers.get("content-type")).to.equal("application/problem+json");
    expect(await problemOf(response)).to.deep.equal({
      status: 503,
      detail: "the service behind /api is not answering",
    });
    expect((server.errors[0] as Error & { cause: { code: string } }).cause.code).to.equal("ECONNREFUSED");
  });

  it("gets 503 if the host of the target has no address", async () => {
    await using server = await startGateway({
      routes: [{ prefix: "/api", targets: ["http://name.invalid"] }],
    });
    expect((await fetch(`${server.url}/api`)).status).to.equal(503);
  });

  it("gets 503 if TLS with the target fails", async () => {
    await using target = await startTcp((socket) =>
      socket.once("data", () => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")),
    );
    const targets = [target.url.replace("http:", "https:")];
    await using server = await startGateway({ routes: [{ prefix: "/api", targets }] });
    expect((await fetch(`${server.url}/api`)).status).to.equal(503);
  });

  it("gets 504 if the target accepts the request and does not answer in time", async () => {
    await using upstream = await startUpstream(() => undefined);
    const routes = [{ prefix: "/api", targets: [upstream.url], timeoutSeconds: 0.05 }];
    await using server = await startGateway({ routes });
    const response = await fetch(`${server.url}/api`);
    expect(await problemOf(response)).to.deep.equal({
      status: 504,
      detail: "the service behind /api did not answer in time",
    });
  });

  it("gets 504 if the target sends interim responses without end", async () => {
    await using target = await startTcp((socket) => {
      socket.once("data", () => {
        const timer = setInterval(() => socket.write("HTTP/1.1 103 x\r\nLink: </a>\r\n\r\n"), 5);
        socket.on("close", () => clearInterval(timer));
      });
    });
    const routes = [{ prefix: "/api", targets: [target.url], timeoutSeconds: 0.05 }];
    await using server = await startGateway({ routes, now: testClock().now });
    const statuses: number[] = [];
    for (let at = 0; at < 4; at += 1) statuses.push((await fetch(`${server.url}/api`)).status);
    expect(statuses).to.deep.equal([504, 504, 504, 503]);
  });

  it("gets the response after interim responses, even if its body takes longer than the time limit", async () => {
    await using upstream = await startUpstream((_req, res) => {
      res.writeEarlyHints({ link: "</a>; rel=preload" });
      res.write("a");
      setTimeout(() => res.end("b"), 600);
    });
    const routes = [{ prefix: "/api", targets: [upstream.url], timeoutSeconds: 0.4 }];
    await using server = await startGateway({ routes });
    expect(await (await fetch(`${server.url}/api`)).text()).to.equal("ab");
  });

  it("gets 502 if the target closes the connection without a response", async () => {
    await using target = await startTcp((socket) => socket.once("data", () => socket.resetAndDestroy()));
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [target.url] }] });
    expect((await fetch(`${server.url}/api`)).status).to.equal(502);
  });

  it("is not sent again after its connection was made", async () => {
    await using target = await startTcp((socket) => socket.once("data", () => socket.destroy()));
    await using other = await startUpstream();
    await using server = await startGateway({
      routes: [{ prefix: "/api", targets: [target.url, other.url] }],
    });
    expect((await fetch(`${server.url}/api`)).status).to.equal(502);
    expect(other.received).to.deep.equal([]);
  });

  it("gets 502 with Connection: close if the target closes the connection before the body is complete", async () => {
    await using target = await startTcp((socket) => socket.once("data", () => socket.destroy()));
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [target.url] }] });
    const asked = request(`${server.url}/api`, { method: "POST", headers: { "Content-Length": 1_000_000 } });
    asked.on("error", () => undefined).write("x".repeat(1000));
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    expect(response.statusCode).to.equal(502);
    expect(response.headers.connection).to.equal("close");
    asked.destroy();
  });

  it("gets 503 after stop()", async () => {
    await using upstream = await startUpstream();
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
    await server.gateway.stop();
    expect((await fetch(`${server.url}/api`)).status).to.equal(503);
    expect(upstream.received).to.deep.equal([]);
  });
});

describe("stop()", () => {
  it("waits for running requests", async () => {
    let respond: (() => void) | undefined;
    await using upstream = await startUpstream((_req, res) => void (respond = () => res.end("done")));
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
    const running = fetch(`${server.url}/api`).then((response) => response.text());
    await until("the request arrives", () => respond !== undefined);
    const stopped = server.gateway.stop();
    respond?.();
    expect(await running).to.equal("done");
    await stopped;
    expect(server.gateway.stop()).to.equal(server.gateway.stop());
  });
});

describe("maxBodyBytes", () => {
  const limited = (
    target: string,
  ): { routes: { prefix: string; targets: string[]; maxBodyBytes: number }[] } => ({
    routes: [{ prefix: "/api", targets: [target], maxBodyBytes: 10 }],
  });

  it("rejects a declared length immediately with 413", async () => {
    await using upstream = await startUpstream();
    await using server = await startGateway(limited(upstream.url));
    const response = await fetch(`${server.url}/api`, { method: "POST", body: "12345678901" });
    expect(await problemOf(response)).to.deep.equal({
      status: 413,
      detail: "the request body is larger than 10 bytes",
    });
    expect(response.headers.get("connection")).to.equal("close");
    expect(upstream.received).to.deep.equal([]);
  });

  it("rejects a longer body of unknown length while it arrives, and aborts the request to the target", async () => {
    let aborted = 0;
    await using upstream = await startUpstream((req) => void req.on("error", () => (aborted += 1)).resume());
    await using server = await startGateway(limited(upstream.url));
    const asked = request(`${server.url}/api`, { method: "POST" }).on("error", () => undefined);
    asked.write("12345");
    await until("the request arrives", () => upstream.received.length === 1);
    asked.write("678901");
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    expect(response.statusCode).to.equal(413);
    await until("the target sees the abort", () => aborted === 1);
    asked.destroy();
  });

  it("accepts a body of exactly this size", async () => {
    await using upstream = await startUpstream();
    await using server = await startGateway(limited(upstream.url));
    expect((await fetch(`${server.url}/api`, { method: "POST", body: "1234567890" })).status).to.equal(200);
    const body = new Blob(["1234567890"]).stream();
    const chunked = await fetch(`${server.url}/api`, { method: "POST", body, duplex: "half" } as RequestInit);
    expect(await chunked.text()).to.equal("10");
  });
});

describe("requireAuth", () => {
  it("rejects a request without a verified caller with 401", async () => {
    await using upstream = await startUpstream();
    const routes = [{ prefix: "/api", targets: [upstream.url], requireAuth: true }];
    await using server = await startGateway({ routes }, { before: signIn });
    const refused = await fetch(`${server.url}/api`, { headers: { Authorization: "Bearer unverified" } });
    expect(refused.status).to.equal(401);
    expect(refused.headers.get("www-authenticate")).to.equal("Bearer");
    expect(upstream.received).to.deep.equal([]);
    const accepted = await fetch(`${server.url}/api`, { headers: { "X-Test-User": "ada" } });
    expect(accepted.status).to.equal(200);
  });
});

describe("bytes that are not a valid request", () => {
  const post = "POST /api HTTP/1.1\r\nHost: x\r\n";
  const smuggled = "GET /api/smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
  const invalid: Record<string, string> = {
    "Content-Length with Transfer-Encoding": `${post}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
    "Transfer-Encoding with Content-Length": `${post}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n${smuggled}`,
    "two lengths": `${post}Content-Length: 0\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
    "a list of lengths": `${post}Content-Length: 0, ${smuggled.length}\r\n\r\n${smuggled}`,
    "a length with a sign": `${post}Content-Length: +0\r\n\r\n${smuggled}`,
    "a folded header": `${post}X-A: 1\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
    "a folded Transfer-Encoding": `${post}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n${smuggled}`,
    "bare line feeds": `POST /api HTTP/1.1\nHost: x\nContent-Length: 0\n\n${smuggled}`,
    "a bare line feed in the header section": `${post}X-A: 1\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
    "a bare carriage return": `${post}X-A: 1\rTransfer-Encoding: chunked\r\n\r\n${smuggled}`,
    "a space before the colon": `${post}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n${smuggled}`,
    "an unknown coding": `${post}Transfer-Encoding: xchunked\r\n\r\n${smuggled}`,
    "chunked twice": `${post}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${smuggled}`,
    "a NUL in a value": `${post}X-A: a\0b\r\n\r\n${smuggled}`,
    "no Host": `GET /api HTTP/1.1\r\n\r\n${smuggled}`,
  };

  for (const [what, bytes] of Object.entries(invalid)) {
    it(`reach no target: ${what}`, async () => {
      await using upstream = await startUpstream();
      await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
      const answer = await rawRequest(server.port, bytes);
      expect(answer.status).to.equal(400);
      expect(upstream.received.map(({ url }) => url)).to.deep.equal([]);
    });
  }

  it("never reach the target as a complete request if a chunk is invalid", async () => {
    let completed = 0;
    await using upstream = await startUpstream((req) => void req.on("end", () => (completed += 1)).resume());
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
    const socket = connect(server.port, "127.0.0.1").on("error", () => undefined);
    socket.write(`${post}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n`);
    await until("the request arrives", () => upstream.received.length === 1);
    socket.write(`zz\r\n${smuggled}`);
    await once(socket.resume(), "close");
    expect(completed).to.equal(0);
    expect(upstream.received).to.have.lengthOf(1);
  });
});

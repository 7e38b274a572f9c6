import { rawRequest } from "@svc/test-support";
import { expect } from "chai";
import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { type Answer, comparable, send, type Sending } from "./support/interop/answer.ts";
import { httpbin, type InteropKind, type InteropServer, nginx, service } from "./support/interop/servers.ts";
import { type Running, startGateway } from "./support/servers.ts";

const MIB = 1024 * 1024;
/** The service creates an id for a request without one, and includes it in problems. */
const headers = { "X-Request-ID": "interop-1" };

/** A server, and a gateway in front of it. */
interface Site {
  /** Requests a path through the gateway. */
  through(path: string, options?: Sending): Promise<Answer>;
  /** Requests a path through the gateway and from the server itself, and checks that both responses are the same. */
  same(path: string, options?: Sending): Promise<Answer>;
  /** The URL of a path of the server at the gateway. */
  urlOf(path: string): string;
  readonly gateway: Running;
}

/** Starts a server and a gateway for one `describe`, which is skipped if the server is not installed. */
function testSite(kind: InteropKind): Site {
  kind.require();
  let server: InteropServer;
  let running: Running;
  before(async () => {
    server = await kind.start();
    running = await startGateway({ routes: [{ prefix: "/api", targets: [server.url], stripPrefix: true }] });
  });
  after(async () => {
    await running[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });
  const urlOf = (path: string): string => `${running.url}/api${path}`;
  const through = (path: string, options?: Sending): Promise<Answer> => send(urlOf(path), options);
  return {
    urlOf,
    through,
    async same(path, options = {}) {
      const both = { ...options, headers: { ...options.headers, ...headers } };
      const answer = await through(path, both);
      expect(comparable(answer)).to.deep.equal(comparable(await send(server.url + path, both)));
      return answer;
    },
    get gateway() {
      return running;
    },
  };
}

function json(answer: Answer): Record<string, unknown> {
  return JSON.parse(answer.body.toString()) as Record<string, unknown>;
}

/** Returns the number of bytes that a server received: nginx sends the count, the other servers send the bytes back. */
function receivedBytes(answer: Answer): number {
  const { data, bytes } = json(answer);
  return typeof data === "string" ? data.length : Number(bytes);
}

/** Defines the tests that run against every server. */
function commonTests(site: Site): void {
  it("receives the query of a GET", async () => {
    const answer = await site.through("/get?number=17");
    expect(answer.status).to.equal(200);
    expect(json(answer)["args"]).to.deep.equal({ number: "17" });
  });

  it("sends the headers of a GET in response to a HEAD, without the body", async () => {
    const answer = await site.same("/html", { method: "HEAD" });
    expect(answer.status).to.equal(200);
    expect(answer.body).to.have.lengthOf(0);
    const { body } = await site.same("/html");
    expect(answer.headers["content-length"]).to.equal(String(body.length));
  });

  it("responds with 304 to a GET with the ETag of its response", async () => {
    const { headers: first } = await site.through("/etag/abc");
    const answer = await site.same("/etag/abc", { headers: { "If-None-Match": first.etag } });
    expect(answer.status).to.equal(304);
    expect(answer.headers.etag).to.equal(first.etag);
    expect(answer.body).to.have.lengthOf(0);
  });

  it("responds with 206 to a GET with Range", async () => {
    const answer = await site.same("/range/1024", { headers: { Range: "bytes=2-5" } });
    expect(answer.status).to.equal(206);
    expect(answer.headers).to.include({ "content-range": "bytes 2-5/1024", "content-length": "4" });
    expect(answer.body.toString()).to.equal("cdef");
  });

  it("receives a body of 1 MB", async () => {
    const answer = await site.through("/post", { method: "POST", body: "x".repeat(MIB) });
    expect(answer.status).to.equal(200);
    expect(receivedBytes(answer)).to.equal(MIB);
  });

  it("receives a body in chunks", async () => {
    const body = Array.from({ length: 100 }, (_, at) => String(at).repeat(100));
    const answer = await site.through("/post", { method: "POST", body });
    expect(answer.status).to.equal(200);
    expect(receivedBytes(answer)).to.equal(19_000);
  });

  it("sends a response in chunks", async () => {
    const answer = await site.same("/stream-bytes/20000?seed=1&chunk_size=1000");
    expect(answer.headers).to.include({ "transfer-encoding": "chunked" });
    expect(answer.headers).to.not.have.property("content-length");
    expect(answer.body).to.have.lengthOf(20_000);
  });

  it("sends a response in chunks to a client with HTTP/1.0, which receives it without chunks", async () => {
    const { body } = await site.through("/stream-bytes/20000?seed=1&chunk_size=1000");
    const target = "/api/stream-bytes/20000?seed=1&chunk_size=1000";
    const answer = await rawRequest(site.gateway.port, `GET ${target} HTTP/1.0\r\nHost: x\r\n\r\n`);
    expect(answer.headers).to.include({ connection: "close" }).and.not.have.property("transfer-encoding");
    expect(answer.body).to.equal(body.toString("latin1"));
  });

  it("sends a compressed response, which stays compressed", async () => {
    const answer = await site.through("/gzip", { headers: { "Accept-Encoding": "gzip" } });
    expect(answer.headers).to.include({
      "content-encoding": "gzip",
      "content-length": String(answer.body.length),
    });
    expect(JSON.parse(gunzipSync(answer.body).toString())).to.include({ gzipped: true });
  });

  it("sends a redirect whose Location stays the same", async () => {
    const answer = await site.same("/redirect-to?url=%2Fget");
    expect(answer.status).to.equal(302);
    expect(answer.headers.location).to.match(/\/get$/);
  });

  it("responds with 404, 405 and 500, and the bodies stay the same", async () => {
    expect((await site.same("/status/404")).status).to.equal(404);
    expect((await site.same("/status/500")).status).to.equal(500);
    expect((await site.same("/range/1024", { method: "POST", body: "" })).status).to.equal(405);
  });

  it("sends two Set-Cookie", async () => {
    const answer = await site.same("/cookies/set?a=1&b=2");
    expect(answer.headers["set-cookie"]).to.deep.equal(["a=1; Path=/", "b=2; Path=/"]);
  });

  it("receives and sends a header of 6,000 characters", async () => {
    const large = "x".repeat(6_000);
    const received = await site.through("/headers", { headers: { "X-Large": large } });
    expect(json(received)["headers"]).to.include({ "X-Large": large });
    const sent = await site.same(`/response-headers?large=${large}`);
    expect(sent.headers).to.include({ large });
  });

  it("receives a body after 100 Continue", async () => {
    const asked = request(site.urlOf("/post"), {
      method: "POST",
      headers: { Expect: "100-continue", "Content-Length": 5 },
    });
    asked.flushHeaders();
    await once(asked, "continue");
    asked.end("12345");
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    expect(response.statusCode).to.equal(200);
    expect(await text(response)).to.match(/"data": ?"12345"|"bytes":"5"/);
  });

  it("responds to several requests on one connection of a client", async () => {
    let connections = 0;
    const count = (): void => void (connections += 1);
    site.gateway.server.on("connection", count);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const paths = ["/get?number=1", "/html", "/status/404", "/etag/abc", "/get?number=2"];
    for (const path of [...paths, ...paths]) await site.through(path, { agent });
    await site.through("/html", { agent, method: "HEAD" });
    const { body } = await site.through("/range/1024", { agent });
    agent.destroy();
    site.gateway.server.off("connection", count);
    expect(body).to.have.lengthOf(1024);
    expect(connections).to.equal(1);
  });

  it("responds to 100 requests at a time, each with its own response", async () => {
    const numbers = Array.from({ length: 100 }, (_, at) => String(at));
    const answers = await Promise.all(numbers.map((number) => site.through(`/get?number=${number}`)));
    const received = answers.map((answer) => (json(answer)["args"] as { number: string }).number);
    expect(received).to.deep.equal(numbers);
  });
}

/** Defines the tests of servers that can send a response without length and without chunks. */
function unsizedTests(site: Site): void {
  it("sends a response that ends with the connection, which the client receives in chunks", async () => {
    const answer = await site.same("/unsized");
    expect(answer.headers).to.include({ "transfer-encoding": "chunked" });
    expect(answer.body).to.have.lengthOf(20_000);
  });

  it("receives the request target unchanged, byte for byte", async () => {
    const target = "/target?a=%2F%20+&&b=[1]|2&c=%C3%A9&d";
    expect((await site.same(target)).body.toString()).to.equal(target);
  });
}

describe("nginx behind a gateway", () => {
  const site = testSite(nginx);
  commonTests(site);
  unsizedTests(site);

  it("sends a response that it compresses itself, in chunks", async () => {
    const answer = await site.same("/compressed", { headers: { "Accept-Encoding": "gzip" } });
    expect(answer.headers).to.include({ "content-encoding": "gzip", vary: "Accept-Encoding" });
    expect(gunzipSync(answer.body)).to.have.lengthOf(20_000);
  });

  it("responds to all requests on few connections, although it closes each after five requests", async () => {
    const connections: string[] = [];
    for (let count = 0; count < 20; count++) {
      const { status, body } = await site.through("/connection");
      expect(status).to.equal(200);
      connections.push(body.toString());
    }
    expect(new Set(connections).size).to.be.within(4, 5);
  });

  it("responds with 416 to a range outside the file, and with all parts of several ranges", async () => {
    const outside = await site.same("/range/1024", { headers: { Range: "bytes=2000-" } });
    expect(outside.status).to.equal(416);
    expect(outside.headers).to.include({ "content-range": "bytes */1024" });
    const answer = await site.through("/range/1024", { headers: { Range: "bytes=0-1,25-26" } });
    expect(answer.status).to.equal(206);
    expect(answer.headers["content-type"]).to.match(/^multipart\/byteranges; boundary=/);
  });

  it("stores the body of a PUT, and removes it with DELETE, which has a response without a body", async () => {
    const body = "line\r\n".repeat(10_000);
    expect((await site.through("/uploads/a", { method: "PUT", body })).status).to.equal(201);
    expect((await site.same("/uploads/a")).body.toString()).to.equal(body);
    expect((await site.through("/uploads/a", { method: "DELETE" })).status).to.equal(204);
    expect((await site.same("/uploads/a")).status).to.equal(404);
  });

  it("responds with 413 before the end of a body that is too large for it", async () => {
    const answer = await site.through("/post", { method: "POST", body: "x".repeat(3 * MIB) });
    expect(answer.status).to.equal(413);
  });
});

describe("httpbin behind a gateway", () => {
  const site = testSite(httpbin);
  commonTests(site);

  it("receives and sends a body of 1 MB unchanged", async () => {
    const body = "0123456789abcdef".repeat(MIB / 16);
    const answer = await site.through("/anything", {
      method: "PATCH",
      body,
      headers: { "Content-Type": "text/plain" },
    });
    expect(json(answer)).to.include({ method: "PATCH", data: body });
  });

  it("sends a response byte by byte over time", async () => {
    const answer = await site.same("/drip?numbytes=4&duration=0.2&delay=0");
    expect(answer.body.toString()).to.equal("****");
  });

  it("receives the credentials of a client, and sends its challenge", async () => {
    const challenge = await site.same("/basic-auth/user/secret");
    expect(challenge.status).to.equal(401);
    expect(challenge.headers["www-authenticate"]).to.match(/^Basic /);
    expect((await site.same("/basic-auth/user/secret", { auth: "user:secret" })).status).to.equal(200);
  });
});

describe("a service of @svc/express behind a gateway", () => {
  const site = testSite(service);
  commonTests(site);
  unsizedTests(site);

  it("receives headers in the order and letter case of the client", async () => {
    const lines = ["zeta: 1", "ALPHA: 2", "X-Twice: a", "mIxEd: 3", "X-Twice: b"];
    const answer = await rawRequest(
      site.gateway.port,
      ["GET /api/raw-headers HTTP/1.1", "Host: x", ...lines, "Connection: close", "", ""].join("\r\n"),
    );
    const pairs = JSON.parse(answer.body) as string[];
    const received = pairs.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${pairs[at + 1]}`] : []));
    expect(received.filter((line) => lines.includes(line))).to.deep.equal(lines);
  });
});

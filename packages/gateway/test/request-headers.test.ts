import { rawRequest } from "@svc/test-support";
import { expect } from "chai";
import { expressMajors, listen } from "@svc/test-support";
import { gateway } from "@svc/gateway";
import {
  type Received,
  type Running,
  startGateway,
  startUpstream,
  type Upstream,
  withRequestId,
} from "./support/servers.ts";

const send = (server: { port: number }, ...lines: readonly string[]): ReturnType<typeof rawRequest> =>
  rawRequest(
    server.port,
    ["GET /api HTTP/1.1", "Host: public.example", "Connection: close", ...lines, "", ""].join("\r\n"),
  );

function pairsOf({ rawHeaders }: Received, ...names: readonly string[]): string[] {
  const pairs: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    if (names.includes(name.toLowerCase())) pairs.push(`${name}: ${rawHeaders[at + 1]}`);
  }
  return pairs;
}

describe("the headers of a request", () => {
  let upstream: Upstream;
  let server: Running;

  beforeEach(async () => {
    upstream = await startUpstream();
    server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
  });

  afterEach(async () => {
    await server[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
  });

  it("reach the target in the same order and letter case, including repeated headers", async () => {
    await send(
      server,
      "X-B: 1",
      "x-a: 2",
      "X-B: 3",
      "Authorization: Bearer t",
      "Cookie: a=1; b=2",
      "X-Latin: caf\u00e9",
    );
    const names = ["x-b", "x-a", "authorization", "cookie", "x-latin"];
    expect(pairsOf(upstream.only(), ...names)).to.deep.equal([
      "X-B: 1",
      "x-a: 2",
      "X-B: 3",
      "Authorization: Bearer t",
      "Cookie: a=1; b=2",
      // rawRequest() sends UTF-8; both bytes arrive unchanged.
      "X-Latin: caf\u00c3\u00a9",
    ]);
  });

  it("name the target's host in Host, and the client's in X-Forwarded-Host", async () => {
    await send(server);
    const { headers } = upstream.only();
    expect(headers.host).to.equal(`127.0.0.1:${upstream.port}`);
    expect(headers["x-forwarded-host"]).to.equal("public.example");
    expect(headers["x-forwarded-proto"]).to.equal("http");
    expect(headers["x-forwarded-for"]).to.equal("127.0.0.1");
  });

  it("contain the client's Host once with preserveHost, or the target's if the client sends none", async () => {
    const routes = [{ prefix: "/api", targets: [upstream.url], preserveHost: true }];
    await using preserving = await startGateway({ routes });
    await send(preserving);
    const received = upstream.only();
    expect(pairsOf(received, "host", "x-forwarded-host")).to.deep.equal([
      "host: public.example",
      "X-Forwarded-Host: public.example",
    ]);
    await rawRequest(preserving.port, "GET /api HTTP/1.0\r\n\r\n");
    expect(upstream.received[1]?.headers.host).to.equal(`127.0.0.1:${upstream.port}`);
  });

  it("are passed on without connection-specific headers and headers that Connection names", async () => {
    await rawRequest(
      server.port,
      [
        "GET /api HTTP/1.1",
        "Host: public.example",
        "Connection: close, X-Secret, Keep-Alive, x-forwarded-for, X-Request-ID, Authorization",
        "X-Secret: 1",
        "Keep-Alive: timeout=5",
        "Proxy-Authorization: Basic eDp5",
        "Proxy-Connection: keep-alive",
        "Proxy-Anything: 1",
        "Proxy: http://evil.example",
        "TE: trailers",
        "Trailer: x",
        "Upgrade: h2c",
        "HTTP2-Settings: AAMAAABkAAQAAP__",
        "Via: 1.1 client",
        "Forwarded: for=6.6.6.6",
        "Authorization: Bearer t",
        "X-Request-ID: abc",
        "X-Kept: 1",
        "",
        "",
      ].join("\r\n"),
    );
    const { headers } = upstream.only();
    expect(Object.keys(headers).sort()).to.deep.equal([
      "authorization",
      "connection",
      "host",
      "x-forwarded-for",
      "x-forwarded-host",
      "x-forwarded-proto",
      "x-kept",
    ]);
    expect(headers.connection).to.equal("keep-alive");
  });

  it("do not contain forged X-Forwarded-* of a client, in any letter case", async () => {
    await send(
      server,
      "X-Forwarded-For: 6.6.6.6",
      "X-Forwarded-Proto: https",
      "X-Forwarded-Host: evil.example",
      "X-Forwarded-Port: 1",
      "X-Real-IP: 6.6.6.6",
      "X_Forwarded_For: 6.6.6.6",
      "X-Forwarded_Proto: https",
      "X_Real_IP: 6.6.6.6",
      "Content_Length: 50",
      "X_Custom: kept",
    );
    const { headers } = upstream.only();
    expect(headers).to.include({
      "x-forwarded-for": "127.0.0.1",
      "x-forwarded-proto": "http",
      "x-forwarded-host": "public.example",
      x_custom: "kept",
    });
    expect(headers).to.not.have.any.keys(
      "x-forwarded-port",
      "x-real-ip",
      "x_forwarded_for",
      "x-forwarded_proto",
      "x_real_ip",
      "content_length",
    );
  });

  it("contain Expect: 100-continue only on the way to the gateway, which responds to it itself", async () => {
    const answer = await rawRequest(
      server.port,
      "POST /api HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab",
    );
    expect(answer.text).to.match(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/);
    expect(upstream.only().headers).to.not.have.property("expect");
  });

  it("contain no X-Forwarded-Host for an HTTP/1.0 request without Host", async () => {
    const answer = await rawRequest(server.port, "GET /api HTTP/1.0\r\n\r\n");
    expect(answer.status).to.equal(200);
    expect(upstream.only().headers).to.not.have.property("x-forwarded-host");
  });
});

describe("X-Request-ID", () => {
  it("is the id of the gateway's request, even if the client sends one and lists the header in Connection", async () => {
    await using upstream = await startUpstream((_req, res) => {
      res.setHeader("X-Request-ID", "of-the-target");
      res.end();
    });
    const routes = [{ prefix: "/api", targets: [upstream.url] }];
    await using server = await startGateway({ routes }, { before: withRequestId("of-the-service") });
    const answer = await send(server, "X-Request-ID: of-the-client", "Connection: x-request-id");
    expect(pairsOf(upstream.only(), "x-request-id")).to.deep.equal(["X-Request-ID: of-the-service"]);
    expect(answer.text.match(/x-request-id: .*/gi)).to.deep.equal(["X-Request-ID: of-the-service"]);
  });

  it("is passed on in both directions if the service does not set one", async () => {
    await using upstream = await startUpstream((_req, res) => {
      res.setHeader("X-Request-ID", "of-the-target");
      res.end();
    });
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
    const answer = await send(server, "X-Request-ID: of-the-client");
    expect(upstream.only().headers["x-request-id"]).to.equal("of-the-client");
    expect(answer.headers["x-request-id"]).to.equal("of-the-target");
  });
});

describe("X-Forwarded-* of a trusted proxy", () => {
  const forwarded = [
    "X-Forwarded-For: 6.6.6.6, 7.7.7.7",
    "X-Forwarded-Proto: https",
    "X-Forwarded-Host: shop.example",
    "X-Forwarded-Port: 443",
  ];

  for (const trustedProxies of [["loopback"], ["127.0.0.0/8"], ["127.0.0.1", "10.0.0.1"]]) {
    it(`is kept and extended if trustedProxies is ${trustedProxies.join(", ")}`, async () => {
      await using upstream = await startUpstream();
      const routes = [{ prefix: "/api", targets: [upstream.url] }];
      await using server = await startGateway({ routes, trustedProxies });
      await send(server, ...forwarded);
      expect(upstream.only().headers).to.include({
        "x-forwarded-for": "6.6.6.6, 7.7.7.7, 127.0.0.1",
        "x-forwarded-proto": "https",
        "x-forwarded-host": "shop.example",
        "x-forwarded-port": "443",
      });
    });
  }

  it("is replaced if the peer is another address", async () => {
    await using upstream = await startUpstream();
    const routes = [{ prefix: "/api", targets: [upstream.url] }];
    await using server = await startGateway({ routes, trustedProxies: ["10.0.0.0/8", "::1"] });
    await send(server, ...forwarded);
    expect(upstream.only().headers["x-forwarded-for"]).to.equal("127.0.0.1");
  });

  for (const [major, express] of Object.entries(expressMajors)) {
    for (const trusts of [true, false]) {
      it(`follows "trust proxy" of ${major}: ${trusts}`, async () => {
        await using upstream = await startUpstream();
        await using made = gateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
        const app = express();
        if (trusts) app.set("trust proxy", "loopback");
        app.use(made as never);
        await using server = await listen(app as never);
        await send(server, ...forwarded);
        expect(upstream.only().headers["x-forwarded-for"]).to.equal(
          trusts ? "6.6.6.6, 7.7.7.7, 127.0.0.1" : "127.0.0.1",
        );
      });
    }
  }
});

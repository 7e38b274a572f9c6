import { once } from "node:events";
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, request as httpRequest } from "node:http";
import { connect, type Socket } from "node:net";
import { ConfigurationError } from "@svc/options";
import { listen, type Listening, signToken, until } from "@svc/test-support";
import { expect } from "chai";
import request from "supertest";
import {
  makeService,
  startService,
  type TestService,
  type TestServiceOptions,
} from "./support/test-service.ts";

const TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const SECRET = "a-secret-of-the-tests-with-32-bytes";

function toml(target: string, keys = "", plugins = "", more = ""): string {
  return `${more}[plugins]
enabled = ["observability", "gateway"${plugins}]
[plugin.gateway.routes.api]
prefix = "/api"
targets = ["${target}"]
${keys}
`;
}

/** A target that returns what it has received, and echoes the bytes of a WebSocket. */
async function startTarget(): Promise<Listening> {
  const server = createServer((req, res) => {
    let bytes = 0;
    req.on("data", (chunk: Buffer) => (bytes += chunk.length));
    req.on("end", () => {
      if (req.url?.endsWith("/slow") === true) setTimeout(() => res.end("late"), 400);
      else res.end(JSON.stringify({ url: req.url, headers: req.headers, bytes }));
    });
  });
  server.on("upgrade", (req, socket) => {
    const key = `${req.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash("sha1").update(key).digest("base64");
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    socket.on("error", () => undefined);
    socket.pipe(socket);
  });
  return listen(server);
}

interface WebSocketClient {
  readonly socket: Socket;
  readonly received: () => Buffer;
}

/** Opens a WebSocket by hand, so that the test sees every byte. */
async function openWebSocket(port: number, path: string, headers = ""): Promise<WebSocketClient> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined);
  let received = Buffer.alloc(0);
  socket.on("data", (chunk) => (received = Buffer.concat([received, chunk])));
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${headers}\r\n`,
  );
  await until("the response has arrived", () => received.includes("\r\n\r\n"));
  return { socket, received: () => received };
}

interface Echoed {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: number;
}

describe("the plugin `gateway`", function () {
  this.timeout(30_000);
  let target: Listening;
  before(async () => (target = await startTarget()));
  after(() => target[Symbol.asyncDispose]());
  const start = (keys = "", plugins = "", more: TestServiceOptions = {}): Promise<TestService> =>
    startService({ ...more, toml: toml(target.url, keys, plugins, more.toml) });

  it("GW-2 proxies requests below a prefix with the caller's trace, and leaves all others to the application", async () => {
    await using test = await start("", "", {
      routes: (app) => void app.get("/own", (_req, res) => void res.json({ own: true })),
    });
    const headers = { traceparent: `${TRACEPARENT} `.trim(), tracestate: "a=1", "X-Request-ID": "request-1" };
    const response = await request(test.url).get("/api/orders?page=2").set(headers);
    const { url, headers: sent } = JSON.parse(response.text) as Echoed;
    expect(url).to.equal("/api/orders?page=2");
    expect(sent).to.include({ traceparent: TRACEPARENT, tracestate: "a=1", "x-request-id": "request-1" });
    expect(sent["x-forwarded-for"]).to.contain("127.0.0.1");
    expect(response.headers["x-request-id"]).to.equal("request-1");
    expect((await request(test.url).get("/own")).body).to.deep.equal({ own: true });
    expect((await request(test.url).get("/apix")).status).to.equal(404);
  });

  it("GW-1 TRACE-10 sends the trace of its own client span", async () => {
    const more = { toml: "" };
    await using test = await start('\n[plugin.telemetry]\nexporter = "memory"\n', ', "telemetry"', more);
    const response = await request(test.url).get("/api/a").set("traceparent", TRACEPARENT);
    const { headers } = JSON.parse(response.text) as Echoed;
    await until("both spans have ended", () => (test.service.telemetry?.spans() ?? []).length === 2);
    const spans = test.service.telemetry?.spans() ?? [];
    const server = spans.find(({ kind }) => kind === "server");
    const client = spans.find(({ kind }) => kind === "client");
    expect(client?.attributes).to.deep.equal({
      "jfast.gateway.prefix": "/api",
      "server.address": "127.0.0.1",
      "http.response.status_code": 200,
    });
    expect(client?.parentSpanId).to.equal(server?.spanId);
    expect(headers["traceparent"]).to.equal(`00-${client?.traceId ?? ""}-${client?.spanId ?? ""}-01`);
    expect(headers["traceparent"]).to.contain(TRACEPARENT.slice(3, 35));
  });

  it("LIM-1 LIM-4 exempts proxied requests from the service's size and time limits", async () => {
    const limits =
      "max_body_bytes = 10\nrequest_timeout = 0.1\nheaders_timeout = 0.2\nreceive_timeout = 0.2\n";
    await using test = await start("", "", {
      toml: limits,
      routes: (app) => void app.post("/own", (_req, res) => void res.json({})),
    });
    const upload = httpRequest(`${test.url}/api/upload`, { method: "POST" });
    const responded = once(upload, "response");
    for (let part = 0; part < 4; part++) {
      upload.write("x".repeat(1000));
      await new Promise((resolve) => setTimeout(resolve, 150));
    }
    upload.end();
    const [response] = (await responded) as [NodeJS.ReadableStream & { statusCode: number }];
    expect(response.statusCode).to.equal(200);
    let text = "";
    for await (const chunk of response) text += String(chunk);
    expect((JSON.parse(text) as Echoed).bytes).to.equal(4000);
    expect(await (await fetch(`${test.url}/api/slow`)).text()).to.equal("late");
    const own = await fetch(`${test.url}/own`, { method: "POST", body: "x".repeat(1000) });
    expect(own.status).to.equal(413);
  });

  it("returns 408 for a request to the application whose body does not arrive", async () => {
    await using test = await start("", "", {
      toml: "headers_timeout = 0.2\nreceive_timeout = 0.2\n",
      routes: (app) => void app.post("/own", (_req, res) => void res.json({})),
    });
    const socket = connect(test.port, "127.0.0.1");
    let received = "";
    socket.on("data", (chunk) => (received += chunk.toString("latin1")));
    socket.write(
      "POST /own HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
    );
    await until("it was refused", () => received.includes("HTTP/1.1 408"));
    await until("the connection is closed", () => socket.destroyed || socket.readableEnded);
    socket.destroy();
  });

  it("LIM-5 closes the connection of a client that continues to send its body slowly after the response", async () => {
    await using test = await start("", "", {
      toml: "headers_timeout = 0.2\nreceive_timeout = 0.3\n",
      routes: (app) => void app.get("/own", (_req, res) => void res.json({ own: true })),
    });
    const socket = connect(test.port, "127.0.0.1").on("error", () => undefined);
    // Not once(), which rejects when the connection is reset: the server closes it with unread data.
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.resume().write("GET /own HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nx");
    const drip = setInterval(() => socket.write("x"), 20);
    await closed;
    clearInterval(drip);
  });

  it("serves a request with Upgrade: h2c over HTTP/1.1, including its body", async function () {
    // Older versions of Node have no such option.
    const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
    if (major < 22 || (major === 22 && minor < 21) || major === 23 || (major === 24 && minor < 9))
      this.skip();
    await using test = await start("", "", {
      routes: (app) => void app.post("/own", (req, res) => void res.json(req.body)),
    });
    const sent = httpRequest(`${test.url}/own`, {
      method: "POST",
      headers: {
        Connection: "Upgrade, HTTP2-Settings",
        Upgrade: "h2c",
        "HTTP2-Settings": "AAMAAABkAAQAAP__",
        "Content-Type": "application/json",
      },
    });
    sent.end('{"a":1}');
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    expect(response.statusCode).to.equal(200);
    expect(String(await response.setEncoding("utf8").toArray())).to.equal('{"a":1}');
  });

  it("SYS-1 SYS-3 handles the system endpoints before a prefix that includes them", async () => {
    const paths = ["/health", "/ready", "/info", "/metrics"];
    const routes = paths.map(
      (path) => `[plugin.gateway.routes.${path.slice(1)}]\nprefix = "${path}"\ntargets = ["${target.url}"]\n`,
    );
    await using test = await startService({
      toml: `[plugins]\nenabled = ["observability", "metrics", "gateway"]\n${routes.join("")}`,
    });
    for (const path of paths) {
      const response = await request(test.url).get(path);
      expect(response.status, path).to.equal(200);
      expect(response.text, path).to.not.contain('"bytes"');
      expect((await request(test.url).get(`${path}/more`)).text).to.contain(`"url":"${path}/more"`);
    }
  });

  it("AUTH-14 with require_auth, proxies only requests with a valid token, and rejects all others with 401", async () => {
    const auth = ', "auth"';
    const keys = 'require_auth = true\n[plugin.auth]\nmode = "secret"\nalgorithms = ["HS256"]\n';
    await using test = await start(keys, auth, { env: { SVC_AUTH_SECRET: SECRET } });
    const refused = await request(test.url).get("/api/a");
    expect(refused.status).to.equal(401);
    expect(refused.type).to.equal("application/problem+json");
    const token = signToken({}, SECRET);
    expect((await request(test.url).get("/api/a").set("Authorization", `Bearer ${token}`)).status).to.equal(
      200,
    );
    const socket = await openWebSocket(test.port, "/api/ws");
    expect(socket.received().toString()).to.match(/^HTTP\/1.1 401 /);
    const open = await openWebSocket(test.port, "/api/ws", `Authorization: Bearer ${token}\r\n`);
    expect(open.received().toString()).to.match(/^HTTP\/1.1 101 /);
    open.socket.destroy();
    socket.socket.destroy();
  });

  it("COR-1 LOG-3 passes WebSockets through the service, with a request id and a log line", async () => {
    await using test = await start();
    const { socket, received } = await openWebSocket(test.port, "/api/ws", "X-Request-ID: socket-1\r\n");
    expect(received().toString("latin1"))
      .to.match(/^HTTP\/1\.1 101 /)
      .and.match(/X-Request-ID: socket-1\r\n/);
    socket.write(Buffer.from([0x81, 0x80, 1, 2, 3, 4]));
    await until("the echo has arrived", () =>
      received()
        .subarray(-6)
        .equals(Buffer.from([0x81, 0x80, 1, 2, 3, 4])),
    );
    socket.end();
    const line = await test.line(({ message, request_id: id }) => message === "request" && id === "socket-1");
    expect(line).to.include({ http_status: 101, http_path: "/api/ws" });
  });

  it("serves an upgrade request as plain HTTP if no gateway route matches, and rejects one with a body with 400", async () => {
    await using test = await start("", "", {
      routes: (app) => void app.get("/own", (_req, res) => void res.json({ own: true })),
    });
    const { socket, received } = await openWebSocket(test.port, "/own");
    await until("the body has arrived", () => received().includes('{"own":true}'));
    expect(received().toString())
      .to.match(/^HTTP\/1.1 200 /)
      .and.match(/Connection: close/i);
    await until("the connection is closed", () => socket.destroyed || socket.readableEnded);
    const post = connect(test.port, "127.0.0.1");
    let text = "";
    post.on("data", (chunk) => (text += chunk.toString()));
    post.write(
      "POST /own HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 2\r\n\r\n{}",
    );
    await until("it was refused", () => text.includes("HTTP/1.1 400"));
    post.destroy();
  });

  it("closes WebSockets with 1001 when the service stops", async () => {
    const test = await start();
    const { socket, received } = await openWebSocket(test.port, "/api/ws");
    const stopped = test.service.stop();
    await until("the close frame has arrived", () =>
      received().includes(Buffer.from([0x88, 0x02, 0x03, 0xe9])),
    );
    socket.end();
    expect(await stopped).to.equal(0);
  });

  it("RDY-16 returns 503 from /ready while a critical target does not respond, without its address", async () => {
    const gone = await startTarget();
    await using test = await startService({ toml: toml(gone.url, "critical = true") });
    await gone[Symbol.asyncDispose]();
    for (let call = 0; call < 3; call++) {
      const { status, body } = await request(test.url).get("/api/a");
      expect(status).to.equal(503);
      expect(body).to.include({ detail: "the service behind /api is not answering" });
    }
    const { status, text } = await request(test.url).get("/ready");
    expect(status).to.equal(503);
    expect(text).to.contain('"gateway"').and.not.contain("127.0.0.1");
  });

  for (const [keys, fault] of [
    [
      'prefix = "/api/"\ntargets = ["http://a"]',
      'routes.api.prefix: must begin with / and not end with it; it is "/api/"',
    ],
    ['prefix = "/api"\ntargets = []', "routes.api.targets"],
    ['prefix = "/api"\ntargets = ["http://user:geheim@a"]', "routes.api.targets"],
    ['prefix = "/api"\ntargets = ["http://127.0.0.1:8123"]', "must not contain this service itself"],
  ] as const) {
    it(`CFG-12 prevents the service from starting: ${fault}`, async () => {
      const config = {
        toml: `[service]\nname = "test"\nport = 8123\n[plugins]\nenabled = ["gateway"]\n[plugin.gateway.routes.api]\n${keys}\n`,
      };
      const error = await makeService({ config }).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(error).to.be.instanceOf(ConfigurationError);
      expect(String(error)).to.contain("plugin.gateway.").and.contain(fault).and.not.contain("geheim");
    });
  }
});

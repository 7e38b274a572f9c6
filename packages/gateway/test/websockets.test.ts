import { expect } from "chai";
import { once } from "node:events";
import { closedOrigin, signIn, startGateway, startUpstream, testClock } from "./support/servers.ts";
import { startTcp } from "./support/tcp.ts";
import { echoFrames, until } from "@svc/test-support";
import { handshake, openRaw, startWebSockets } from "./support/websockets.ts";

const MIB = 1024 * 1024;

describe("a WebSocket", () => {
  it("is passed on from handshake to close", async () => {
    await using upstream = await startWebSockets(echoFrames);
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/api/ws?x=1`);
    await once(socket, "open");
    for (const text of ["first", "second"]) {
      socket.send(text);
      const [event] = (await once(socket, "message")) as [MessageEvent];
      expect(event.data).to.equal(text);
    }
    socket.close(1000);
    const [event] = (await once(socket, "close")) as [CloseEvent];
    expect(event.code).to.equal(1000);
    expect(upstream.only().url).to.equal("/api/ws?x=1");
    await until("the socket of the target is closed", () => upstream.sockets[0]?.destroyed === true);
  });

  it("is requested with the headers of a proxied request, and with Connection and Upgrade", async () => {
    await using upstream = await startWebSockets(
      () => undefined,
      ["Sec-WebSocket-Protocol: chat", "Set-Cookie: a=1", "Set-Cookie: b=2", "Keep-Alive: timeout=5"],
    );
    await using server = await startGateway({
      routes: [{ prefix: "/api", targets: [upstream.url], stripPrefix: true }],
    });
    const client = openRaw(server.port, "/api/ws", [
      ...handshake,
      "Sec-WebSocket-Protocol: chat, other",
      "X-Forwarded-For: 6.6.6.6",
      "Forwarded: for=6.6.6.6",
      "Proxy-Authorization: Basic eDp5",
    ]);
    await until("the handshake is complete", () => client.text().includes("\r\n\r\n"));
    const { url, headers } = upstream.only();
    expect(url).to.equal("/ws");
    expect(headers).to.include({
      host: `127.0.0.1:${upstream.port}`,
      connection: "upgrade",
      upgrade: "websocket",
      "sec-websocket-protocol": "chat, other",
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
      "sec-websocket-version": "13",
      "x-forwarded-for": "127.0.0.1",
    });
    expect(headers).to.not.have.any.keys("forwarded", "proxy-authorization");
    expect(client.text().toLowerCase().split("\r\n").sort()).to.deep.equal(
      [
        "HTTP/1.1 101 Switching Protocols",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Protocol: chat",
        "Set-Cookie: a=1",
        "Set-Cookie: b=2",
        "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
        "",
        "",
      ]
        .map((line) => line.toLowerCase())
        .sort(),
    );
    client.socket.destroy();
  });

  it("passes on every byte that arrives with the handshake, from either side", async () => {
    await using upstream = await startWebSockets((socket) => socket.write("early from the target"));
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
    const client = openRaw(server.port, "/api/ws", handshake, "early from the client");
    await until("the bytes of the target arrive", () => client.text().endsWith("early from the target"));
    const [part] = (await once(upstream.sockets[0] as never, "data")) as [Buffer];
    expect(part.toString()).to.equal("early from the client");
    client.socket.destroy();
  });

  it("passes on bytes only as fast as the other side reads", async () => {
    let written = 0;
    await using upstream = await startWebSockets((socket) => {
      void (async () => {
        for (; written < 64 * MIB; written += MIB) {
          if (!socket.write(Buffer.alloc(MIB))) await once(socket, "drain");
        }
      })();
    });
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
    const client = openRaw(server.port);
    await until("the handshake is complete", () => client.text().includes("\r\n\r\n"));
    client.socket.pause();
    let last = -1;
    let same = 0;
    await until("the target stops writing", () => {
      same = written === last ? same + 1 : 0;
      last = written;
      return same >= 20;
    });
    expect(written).to.be.lessThan(32 * MIB);
    client.socket.destroy();
  });

  it("ends on the other side when one side ends or loses its connection", async () => {
    for (const end of ["end", "destroy", "resetAndDestroy"] as const) {
      await using upstream = await startWebSockets((socket) => {
        socket.on("end", () => socket.end()).resume();
      });
      await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
      const one = openRaw(server.port);
      const other = openRaw(server.port);
      await until("both are open", () => [one, other].every((each) => each.text().includes("\r\n\r\n")));
      one.socket[end]();
      await until(`the target's socket is closed after ${end}`, () =>
        upstream.sockets.some((each) => each.destroyed),
      );
      for (const socket of upstream.sockets) socket[end]();
      await other.closed;
      one.socket.destroy();
    }
  });

  it("is closed with 1001 on both sides by stop(), which refuses later WebSockets", async () => {
    await using upstream = await startWebSockets(() => undefined);
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/api/ws`);
    await once(socket, "open");
    const chunks: Buffer[] = [];
    upstream.sockets[0]?.on("data", (part: Buffer) => chunks.push(part));
    const closed = once(socket, "close") as Promise<[CloseEvent]>;
    await server.gateway.stop();
    expect((await closed)[0].code).to.equal(1001);
    const frame = Buffer.concat(chunks);
    expect([frame[0], frame[1], frame.length]).to.deep.equal([0x88, 0x82, 8]);
    const code = [6, 7].map((at) => (frame[at] ?? 0) ^ (frame[at - 4] ?? 0));
    expect(code).to.deep.equal([0x03, 0xe9]);
    const later = openRaw(server.port);
    await later.closed;
    expect(later.text()).to.match(/^HTTP\/1\.1 503 /);
  });

  it("is refused if its handshake is incomplete when the WebSockets are closed", async () => {
    let accept: (() => void) | undefined;
    await using upstream = await startUpstream();
    upstream.server.on("upgrade", (_req, socket) => {
      accept = () => socket.write("HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
    });
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
    const client = openRaw(server.port);
    await until("the handshake arrives", () => accept !== undefined);
    await server.gateway.closeWebSockets();
    accept?.();
    await client.closed;
    expect(client.text()).to.match(/^HTTP\/1\.1 503 /);
  });

  it("is closed by stop() even if the peers do not respond to the close frame", async () => {
    await using upstream = await startWebSockets(() => undefined);
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
    const client = openRaw(server.port);
    await until("the handshake is complete", () => client.text().includes("\r\n\r\n"));
    await server.gateway.closeWebSockets();
    client.socket.end();
    await client.closed;
    expect(client.text().endsWith("\x88\x02\x03\xe9")).to.equal(true);
  });
});

describe("an upgrade", () => {
  const status = async (client: ReturnType<typeof openRaw>): Promise<number> => {
    await client.closed;
    return Number(/^HTTP\/1\.1 (\d{3}) /.exec(client.text())?.[1]);
  };

  it("gets the target's response if the target refuses it", async () => {
    await using upstream = await startUpstream();
    upstream.server.on("upgrade", (_req, socket) => {
      socket.end("HTTP/1.1 403 Forbidden\r\nX-Reason: origin\r\nContent-Length: 7\r\n\r\nrefused");
    });
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
    const client = openRaw(server.port);
    expect(await status(client)).to.equal(403);
    expect(client.text().toLowerCase())
      .to.include("x-reason: origin")
      .and.match(/refused$/);
  });

  it("is not handled without a route, and upgrade() returns false", async () => {
    await using server = await startGateway({ routes: [] });
    expect(server.gateway.upgrade({ url: "/api" } as never, {} as never, Buffer.alloc(0))).to.equal(false);
  });

  it("gets a problem if no connection can be made, the target is silent or its response is invalid", async () => {
    await using silent = await startUpstream();
    silent.server.on("upgrade", () => undefined);
    await using invalid = await startTcp((socket) =>
      socket.once("data", () => socket.end("nonsense\r\n\r\n")),
    );
    await using other = await startTcp((socket) =>
      socket.once("data", () => socket.end("HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n")),
    );
    const cases: readonly (readonly [string, number])[] = [
      [await closedOrigin(), 503],
      [silent.url, 504],
      [invalid.url, 502],
      [other.url, 502],
    ];
    for (const [target, expected] of cases) {
      const routes = [{ prefix: "/api", targets: [target], timeoutSeconds: 0.05 }];
      await using server = await startGateway({ routes, now: testClock().now });
      const client = openRaw(server.port);
      expect(await status(client)).to.equal(expected);
      expect(client.text()).to.include("application/problem+json").and.not.include("127.0.0.1");
      expect(server.logger.at("error")).to.deep.equal(["a WebSocket could not be passed on"]);
    }
  });

  it("gets 400 if the route has websocket = false, the path is unsafe or the protocol is not WebSocket", async () => {
    await using upstream = await startWebSockets(() => undefined);
    const targets = [upstream.url];
    const routes = [
      { prefix: "/plain", targets, websocket: false },
      { prefix: "/api", targets },
    ];
    await using server = await startGateway({ routes });
    expect(await status(openRaw(server.port, "/plain"))).to.equal(400);
    expect(await status(openRaw(server.port, "/api/../x"))).to.equal(400);
    expect(await status(openRaw(server.port, "/api", ["Connection: Upgrade", "Upgrade: h2c"]))).to.equal(400);
    expect(await status(openRaw(server.port, "/api", [...handshake, "Content-Length: 3"], "abc"))).to.equal(
      400,
    );
    expect(upstream.received).to.deep.equal([]);
  });

  it("gets 401 without a verified caller if the route has requireAuth", async () => {
    await using upstream = await startWebSockets(() => undefined);
    const routes = [{ prefix: "/api", targets: [upstream.url], requireAuth: true }];
    await using server = await startGateway({ routes });
    server.server.prependListener("upgrade", signIn);
    expect(await status(openRaw(server.port))).to.equal(401);
    const client = openRaw(server.port, "/api", [...handshake, "X-Test-User: ada"]);
    await until("the handshake is complete", () => client.text().startsWith("HTTP/1.1 101 "));
    client.socket.destroy();
  });

  it("is aborted at the target when the client disconnects", async () => {
    let closed = 0;
    await using upstream = await startUpstream();
    upstream.server.on("upgrade", (_req, socket) => {
      closed -= 1;
      socket
        .on("error", () => undefined)
        .on("end", () => (closed += 2))
        .resume();
    });
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
    const client = openRaw(server.port);
    await until("the request arrives", () => closed === -1);
    client.socket.destroy();
    await until("the target sees the abort", () => closed === 1);
    expect(server.logger.at("error")).to.deep.equal([]);
  });
});

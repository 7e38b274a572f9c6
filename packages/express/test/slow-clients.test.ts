import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { until } from "@svc/test-support";
import { expect } from "chai";
import { startService, type TestService } from "./support/test-service.ts";

interface SlowClient {
  readonly socket: Socket;
  /** Resolves with all received data when the server has closed the connection. */
  readonly closed: Promise<string>;
}

async function open(port: number, bytes: string): Promise<SlowClient> {
  const socket = connect({ port, host: "127.0.0.1" });
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
  socket.on("error", () => undefined);
  const closed = new Promise<string>((resolve) => socket.on("close", () => resolve(text)));
  await Promise.race([once(socket, "connect").catch(() => undefined), closed]);
  if (!socket.destroyed) socket.write(bytes);
  return { socket, closed };
}

async function withService(toml: string, run: (test: TestService) => Promise<void>): Promise<void> {
  await using test = await startService({
    toml,
    routes: (app) => {
      app.post("/", (_req, res) => void res.send("posted"));
      app.get("/", (_req, res) => void res.send("got"));
    },
  });
  await run(test);
}

describe("slow clients", () => {
  it("ERR-21 get a 408 problem when their request headers do not arrive", async () => {
    await withService("headers_timeout = 0.3\n", async ({ port }) => {
      const { closed } = await open(port, "GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ");
      const text = await closed;
      expect(text).to.match(/^HTTP\/1\.1 408 /);
      expect(text).to.match(/\r\ncontent-type: application\/problem\+json\r\n/i);
      const body = JSON.parse(text.slice(text.indexOf("\r\n\r\n") + 4)) as Record<string, unknown>;
      expect(body).to.include({ status: 408, title: "Request Timeout" });
      expect(body["request_id"]).to.match(/^[0-9a-f]{32}$/);
    });
  });

  it("lose their connection when their request body does not arrive", async () => {
    await withService("headers_timeout = 0.2\nreceive_timeout = 0.3\n", async ({ port }) => {
      const { closed } = await open(
        port,
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
      );
      const text = await closed;
      expect(text).not.to.contain("posted");
      expect(text).to.match(/^(?:$|HTTP\/1\.1 408 )/);
    });
  });

  it("ERR-21 get 408, not 504, when a handler waits for their body until the request timeout", async () => {
    await withService("request_timeout = 0.1\nheaders_timeout = 1\nreceive_timeout = 1\n", async (test) => {
      const head =
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{";
      const text = await (await open(test.port, head)).closed;
      expect(text).to.match(/^HTTP\/1\.1 408 Request Timeout\r\n/);
      expect(text).to.contain('"detail":"the request did not arrive in time"');
      expect(await test.line((each) => each["message"] === "request")).to.include({ http_status: 408 });
    });
  });

  it("ERR-21 cause an error in the request stream that a handler reads, after the 408", async () => {
    const { promise: ended, resolve } = Promise.withResolvers<unknown>();
    await using test = await startService({
      toml: "request_timeout = 0.1\nheaders_timeout = 1\nreceive_timeout = 5\n",
      routes: (app) =>
        void app.post("/stream", async (req) => {
          try {
            for await (const _ of req);
            resolve("whole");
          } catch (error) {
            resolve(error);
          }
        }),
    });
    const head = "POST /stream HTTP/1.1\r\nHost: x\r\nContent-Type: text/csv\r\nContent-Length: 9\r\n\r\n{";
    const text = await (await open(test.port, head)).closed;
    expect(text)
      .to.match(/^HTTP\/1\.1 408 /)
      .and.match(/\r\nconnection: close\r\n/i);
    expect(await ended).to.include({ status: 408 });
  });

  it("LIM-4 cause an error in the request stream when they disconnect while a handler still reads after the 504", async () => {
    const { promise: ended, resolve } = Promise.withResolvers<unknown>();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const { promise: mayReadOn, resolve: readOn } = Promise.withResolvers<void>();
    await using test = await startService({
      // The request timeout leaves enough time for both parts of the body to arrive.
      toml: "request_timeout = 2\nheaders_timeout = 1\nreceive_timeout = 8\n",
      routes: (app) =>
        void app.post("/stream", async (req) => {
          try {
            for await (const _ of req) {
              begin();
              await mayReadOn;
            }
            resolve("whole");
          } catch (error) {
            resolve(error);
          }
        }),
    });
    const head = "POST /stream HTTP/1.1\r\nHost: x\r\nContent-Type: text/csv\r\nContent-Length: 9\r\n\r\n1";
    const { socket } = await open(test.port, head);
    await begun;
    socket.write("2");
    const [answer] = (await once(socket, "data")) as [Buffer];
    expect(answer.toString("latin1")).to.match(/^HTTP\/1\.1 504 /);
    readOn();
    socket.destroy();
    expect(await ended).to.be.an("error");
  });

  it("LIM-4 get a 504, not a 408, when a handler leaves their body unread", async () => {
    await using test = await startService({
      toml: "request_timeout = 0.1\nheaders_timeout = 1\nreceive_timeout = 1\n",
      routes: (app) => void app.post("/hang", () => undefined),
    });
    const head = "POST /hang HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\n";
    expect(await (await open(test.port, head)).closed).to.match(/^HTTP\/1\.1 504 /);
  });

  it("lose their connection when they send their body byte by byte", async () => {
    await withService("headers_timeout = 0.2\nreceive_timeout = 0.4\n", async ({ port }) => {
      const { socket, closed } = await open(
        port,
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n",
      );
      const drops = setInterval(() => socket.write(" "), 20);
      const text = await closed;
      clearInterval(drops);
      expect(text).not.to.contain("posted");
    });
  });

  it("lose their connection when they are idle for longer than keep_alive_timeout", async () => {
    await withService("keep_alive_timeout = 0.2\n", async ({ port }) => {
      const { closed } = await open(port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
      const text = await closed;
      expect(text)
        .to.match(/^HTTP\/1\.1 200 /)
        .and.to.match(/\r\nConnection: keep-alive\r\n/);
    });
  });

  it("do not block other clients: 300 connections without headers are closed while /health responds", async () => {
    await withService("headers_timeout = 2\n", async ({ port, url }) => {
      const clients = await Promise.all(
        Array.from({ length: 300 }, () => open(port, "GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ")),
      );
      const startedAt = performance.now();
      let open300 = true;
      const all = Promise.all(
        clients.map(async ({ closed }) => ({ text: await closed, at: performance.now() - startedAt })),
      );
      let answered = 0;
      const probing = (async () => {
        while (open300) {
          expect((await fetch(`${url}/health`)).status).to.equal(200);
          answered++;
        }
      })();
      const ends = await all;
      open300 = false;
      await probing;
      expect(answered).to.be.greaterThan(10);
      for (const { text } of ends) expect(text).to.match(/^HTTP\/1\.1 408 /);
      // The limit is 3 s; the remaining time allows for a busy machine.
      expect(Math.max(...ends.map(({ at }) => at))).to.be.lessThan(10_000);
    });
  });

  it("are not accepted beyond max_connections", async () => {
    await withService("max_connections = 2\n", async ({ port }) => {
      const held = await Promise.all([open(port, ""), open(port, "")]);
      const third = await open(port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
      expect(await third.closed).to.equal("");
      for (const { socket } of held) socket.destroy();
    });
  });

  it("get their response if they send in time, also with fractional deadlines such as 2.3 s", async () => {
    await withService(
      "headers_timeout = 2.3\nreceive_timeout = 8.2\nkeep_alive_timeout = 4.1\n",
      async ({ url }) => {
        expect(await (await fetch(`${url}/`)).text()).to.equal("got");
      },
    );
  });
});

describe("clients that do not read", () => {
  it("lose their connection when they read no part of their response within send_timeout", async () => {
    await using test = await startService({
      // This limit also applies before the request; 2 s are enough to send one on a busy machine.
      toml: "send_timeout = 2\n",
      routes(app) {
        app.get("/large", (_req, res) => void res.end(Buffer.alloc(64 * 1024 * 1024)));
      },
    });
    const { socket, closed } = await open(test.port, "GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
    socket.pause();
    await test.line((line) => line["http_path"] === "/large" && line["aborted"] === true);
    socket.resume();
    await closed;
  });

  it("keep their connection while an event stream is silent", async () => {
    let stream: ServerResponse | undefined;
    await using test = await startService({
      toml: "send_timeout = 0.1\n",
      routes(app) {
        app.get("/events", (_req, res) => {
          stream = res;
          res.writeHead(200, { "content-type": "text/event-stream" }).write("data: first\n\n");
        });
      },
    });
    // On a busy machine the connection may be idle for longer than the short limit before its request arrives, and is
    // then closed.
    const response = await until("an answer", () => fetch(`${test.url}/events`).catch(() => undefined));
    const reader = response.body?.getReader();
    await reader?.read();
    await new Promise((resolve) => setTimeout(resolve, 500));
    stream?.end("data: last\n\n");
    const { value } = (await reader?.read()) ?? {};
    expect(Buffer.from(value ?? []).toString()).to.equal("data: last\n\n");
  });
});

describe("clients that never stop sending", () => {
  it("LIM-3 lose their connection when the body exceeds max_body_bytes after the response", async () => {
    await using test = await startService({
      toml: "max_body_bytes = 100000\n",
      routes(app) {
        app.post("/now", (_req, res) => void res.send("answered"));
      },
    });
    const head =
      "POST /now HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n";
    const { socket, closed } = await open(test.port, head);
    const chunk = `${(16_384).toString(16)}\r\n${"x".repeat(16_384)}\r\n`;
    const sending = setInterval(() => socket.write(chunk), 1);
    const text = await closed;
    clearInterval(sending);
    expect(text).to.match(/^HTTP\/1\.1 (?:200|413) /);
  });
});

import { until } from "@svc/test-support";
import { expect } from "chai";
import { once } from "node:events";
import { type IncomingMessage, request, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { startGateway, startUpstream } from "./support/servers.ts";

const MIB = 1024 * 1024;
const total = 64 * MIB;
const chunk = Buffer.alloc(MIB, "x");

describe("a body", () => {
  it("of a response is read from the target only as fast as the client reads", async () => {
    let written = 0;
    const respond = async (res: ServerResponse): Promise<void> => {
      for (; written < total; written += chunk.length) if (!res.write(chunk)) await once(res, "drain");
      res.end();
    };
    await using upstream = await startUpstream((_req, res) => void respond(res));
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
    const asked = request(`${server.url}/api`).end();
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    const stalledAt = await settled(() => written);
    expect(stalledAt).to.be.lessThan(total / 2);
    let received = 0;
    for await (const part of response) received += (part as Buffer).length;
    expect(received).to.equal(total);
  });

  it("of a request is read from the client only as fast as the target reads", async () => {
    let release: (() => void) | undefined;
    let received = 0;
    await using upstream = await startUpstream((req, res) => {
      release = () => {
        req.on("data", (part: Buffer) => (received += part.length)).on("end", () => res.end("read"));
      };
    });
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
    const asked = request(`${server.url}/api`, { method: "PUT", headers: { "Content-Length": total } });
    let sent = 0;
    void (async () => {
      for (; sent < total; sent += chunk.length) if (!asked.write(chunk)) await once(asked, "drain");
      asked.end();
    })();
    await until("the request arrives", () => release !== undefined);
    expect(await settled(() => sent)).to.be.lessThan(total / 2);
    release?.();
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    response.resume();
    expect(received).to.equal(total);
  });

  it("causes a 408 and ends the request to the target when the client stops sending it", async () => {
    let isClosed = false;
    await using upstream = await startUpstream((req) => {
      req.resume().on("close", () => (isClosed = true));
    });
    const routes = [{ prefix: "/api", targets: [upstream.url], timeoutSeconds: 0.2 }];
    await using server = await startGateway({ routes });
    const socket = connect(server.port, "127.0.0.1");
    let received = "";
    socket.on("data", (part) => (received += part.toString("latin1")));
    socket.write("POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n123");
    await until("the response", () => received.includes("408"));
    await until("the end of the request to the target", () => isClosed);
    expect(received).to.contain("the request did not arrive in time");
    socket.destroy();
  });

  it("causes a 504 when the target stops reading it", async () => {
    await using upstream = await startUpstream(() => undefined);
    const routes = [{ prefix: "/api", targets: [upstream.url], timeoutSeconds: 0.2 }];
    await using server = await startGateway({ routes });
    const asked = request(`${server.url}/api`, { method: "PUT", headers: { "Content-Length": total } });
    asked.on("error", () => undefined).write(Buffer.alloc(total - 1));
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    expect(response.statusCode).to.equal(504);
    asked.destroy();
  });

  it("of unknown length arrives as chunks, and a declared length arrives unchanged", async () => {
    await using upstream = await startUpstream();
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
    const post = (headers: Record<string, string>, body: string): Promise<string> =>
      fetch(`${server.url}/api`, { method: "POST", headers, body }).then((response) => response.text());
    expect(await post({}, "12345")).to.equal("5");
    const asked = request(`${server.url}/api`, { method: "POST" });
    asked.write("123");
    asked.end("456");
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    expect(String(await response.setEncoding("utf8").toArray())).to.equal("6");
    const [first, second] = upstream.received;
    expect(first?.headers).to.include({ "content-length": "5" }).and.not.have.property("transfer-encoding");
    expect(second?.headers)
      .to.include({ "transfer-encoding": "chunked" })
      .and.not.have.property("content-length");
  });

  for (const method of ["GET", "DELETE", "POST", "QUERY"]) {
    it(`of ${method} is passed on, even if it is empty`, async () => {
      await using upstream = await startUpstream();
      await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
      for (const body of ["", "abc"]) {
        const asked = request(`${server.url}/api`, { method, headers: { "Content-Length": body.length } });
        asked.end(body);
        const [response] = (await once(asked, "response")) as [IncomingMessage];
        expect(String(await response.setEncoding("utf8").toArray()), body).to.equal(String(body.length));
      }
    });
  }
});

describe("a client that disconnects", () => {
  it("aborts the request to the target if the response has not begun", async () => {
    let aborted = 0;
    await using upstream = await startUpstream((_req, res) => void res.on("close", () => (aborted += 1)));
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
    const asked = request(`${server.url}/api`).on("error", () => undefined);
    asked.end();
    await until("the request arrives", () => upstream.received.length === 1);
    asked.destroy();
    await until("the target sees the abort", () => aborted === 1);
    expect(server.errors).to.deep.equal([]);
  });

  it("aborts the request to the target if the response has begun", async () => {
    let aborted = 0;
    await using upstream = await startUpstream((_req, res) => {
      res.write("first");
      res.on("close", () => (aborted += 1));
    });
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
    const asked = request(`${server.url}/api`).on("error", () => undefined);
    asked.end();
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    response.on("error", () => undefined).destroy();
    await until("the target sees the abort", () => aborted === 1);
    expect(server.errors).to.deep.equal([]);
  });

  it("aborts the request to the target if its own body is incomplete", async () => {
    let aborted = 0;
    await using upstream = await startUpstream((req) => void req.on("error", () => (aborted += 1)).resume());
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
    const asked = request(`${server.url}/api`, { method: "POST", headers: { "Content-Length": 100 } });
    asked.on("error", () => undefined).write("x".repeat(50));
    await until("the request arrives", () => upstream.received.length === 1);
    asked.destroy();
    await until("the target sees the abort", () => aborted === 1);
    expect(server.errors).to.deep.equal([]);
  });

  it("aborts its pipelined request, whose response has not begun", async () => {
    let aborted = 0;
    await using upstream = await startUpstream((_req, res) => void res.on("close", () => (aborted += 1)));
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
    const socket = connect(server.port, "127.0.0.1");
    socket.write("GET /api/1 HTTP/1.1\r\nHost: x\r\n\r\nGET /api/2 HTTP/1.1\r\nHost: x\r\n\r\n");
    await until("both requests arrive", () => upstream.received.length === 2);
    socket.destroy();
    await until("the target sees both aborts", () => aborted === 2);
  });
});

describe("a target that responds before the end of the request", () => {
  it("has its response passed on, and the connection of the client stays usable", async () => {
    await using upstream = await startUpstream((req, res) => {
      if (req.method === "GET") res.end("next");
      else res.writeHead(403).end("early");
    });
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
    const socket = connect(server.port, "127.0.0.1");
    let text = "";
    socket.setEncoding("latin1").on("data", (part: string) => (text += part));
    socket.write("POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345");
    await until("the response arrives", () => text.includes("early"));
    socket.write("67890GET /api HTTP/1.1\r\nHost: x\r\n\r\n");
    await until("the next response arrives", () => text.includes("next"));
    socket.destroy();
  });
});

/** Waits until a count has grown and then stays constant, and returns it. */
async function settled(count: () => number): Promise<number> {
  let last = -1;
  let same = 0;
  return until("the count stops growing", () => {
    const now = count();
    same = now > 0 && now === last ? same + 1 : 0;
    last = now;
    return same >= 20 ? now : undefined;
  });
}

import { createServer as createTcpServer, type Socket } from "node:net";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:http";
import { checkConformance } from "@svc/conformance";
import { freePort } from "@svc/dev-services";
import { expect } from "chai";
import { failures } from "./support/judge.ts";

/** Answers the first request of all, to be taken for a service, and then does something to every connection. */
async function startStrange(
  strange: (socket: Socket) => void,
): Promise<{ readonly url: string; readonly close: () => void }> {
  let isFirst = true;
  const server = createTcpServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => {
      if (isFirst) socket.end("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
      else strange(socket);
      isFirst = false;
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => void server.close(),
  };
}

describe("a run ends, whatever the service does", function () {
  this.timeout(60_000);
  const limits = { requestSeconds: 0.3, checkSeconds: 1, totalSeconds: 3, concurrency: 16 };
  const strangers: Readonly<Record<string, readonly [(socket: Socket) => void, RegExp]>> = {
    "never answers": [() => undefined, /no complete answer within 0.3 s/],
    "closes every connection": [(socket) => socket.destroy(), /closed without an answer|ECONNRESET/],
    "does not speak HTTP": [(socket) => socket.end("SSH-2.0-strange\r\n\r\n"), /bytes that are not HTTP/],
    "breaks off its answer": [
      (socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"),
      /a body of 1 bytes, announced as 99/,
    ],
    "sends chunks without sizes": [
      (socket) => socket.end("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
      /a chunk without a size/,
    ],
    drips: [
      (socket) => {
        socket.write("HTTP/1.1 200 OK\r\n");
        const drip = setInterval(() => socket.write("X-Drip: 1\r\n"), 20);
        socket.on("close", () => clearInterval(drip));
      },
      /no complete answer within 0.3 s/,
    ],
  };

  for (const [what, [strange, said]] of Object.entries(strangers)) {
    it(`when it ${what}`, async () => {
      const { url, close } = await startStrange(strange);
      try {
        const report = await checkConformance({ url, house: true, ...limits });
        expect(report.passed).to.equal(0);
        const sys1 = failures(report).find(({ id }) => id === "SYS-1");
        expect(sys1?.verdict).to.have.property("seen").that.matches(said);
      } finally {
        close();
      }
    });
  }

  it("when nobody answers while it waits for its keys to be fetched", async () => {
    const { url, close } = await startStrange((socket) => socket.destroy());
    try {
      const report = await checkConformance({
        url,
        keys: { algorithm: "ES256" },
        probes: { protected: "/mine" },
        serveKeys: `127.0.0.1:${await freePort()}`,
        keySetPatienceSeconds: 0.2,
        only: ["AUTH-14"],
        ...limits,
      });
      expect(failures(report).map(({ id }) => id)).to.deep.equal(["AUTH-14"]);
    } finally {
      close();
    }
  });

  it("and does not repeat a token that the service repeats", async () => {
    const echo = createServer((req, res) => {
      res.writeHead(200, { "Content-Type": "application/json" });
      res.end(JSON.stringify({ status: req.headers.authorization ?? "ok" }));
    });
    echo.listen(0, "127.0.0.1");
    await once(echo, "listening");
    try {
      const report = await checkConformance({
        url: `http://127.0.0.1:${(echo.address() as AddressInfo).port}`,
        keys: { algorithm: "HS256", secret: "a-secret-of-forty-characters-or-somewhat-more" },
        probes: { protected: "/mine" },
        house: true,
        ...limits,
        totalSeconds: 20,
      });
      expect(report.failed).to.be.above(10);
      expect(JSON.stringify(report)).not.to.match(/eyJ[\w-]{10,}\.[\w-]{10,}/);
    } finally {
      echo.close();
    }
  });
});

import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { startForeign } from "./support/foreign-service.ts";
import { failures, messagesOf } from "./support/judge.ts";
import {
  asJUnit,
  asTable,
  checkConformance,
  type ConformanceReport,
  type InvalidUse,
} from "@svc/conformance";
import { freePort } from "@svc/dev-services";
import { listen } from "@svc/test-support";
import { expect } from "chai";

/**
 * Starts a server that responds normally to the first request, so that it looks like a service, and passes every later
 * connection to `strange`.
 */
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

/** Forwards a request to another service. */
function relay(req: IncomingMessage, res: ServerResponse, url: string): void {
  const to = request(url + (req.url ?? ""), { method: req.method, headers: req.headers });
  to.on("response", (answer) => answer.pipe(res.writeHead(answer.statusCode ?? 500, answer.headers)));
  to.on("error", () => res.destroy());
  req.pipe(to);
}

describe("a run always ends", function () {
  this.timeout(120_000);
  /**
   * Time limits that suffice on a busy machine; they do not affect the verdicts on a service that closes each connection
   * itself.
   */
  const limits = { requestSeconds: 30, totalSeconds: 100, concurrency: 16 };
  const ends: Readonly<Record<string, readonly [(socket: Socket) => void, RegExp]>> = {
    "closes every connection": [(socket) => socket.destroy(), /closed without a response|ECONNRESET/],
    "does not speak HTTP": [(socket) => socket.end("SSH-2.0-strange\r\n\r\n"), /bytes that are not HTTP/],
    "cuts off its response": [
      (socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"),
      /a body of 1 bytes, announced as 99/,
    ],
    "sends chunks without sizes": [
      (socket) => socket.end("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
      /a chunk without a size/,
    ],
  };
  for (const [what, [strange, seen]] of Object.entries(ends)) {
    it(`when the service ${what}`, async () => {
      const { url, close } = await startStrange(strange);
      const report = await checkConformance({ url, house: true, ...limits }).finally(close);
      expect(report.passed).to.equal(0);
      const sys1 = failures(report).find(({ id }) => id === "SYS-1");
      expect(sys1?.verdict).to.have.property("seen").that.matches(seen);
    });
  }

  const silences: Readonly<Record<string, (socket: Socket) => void>> = {
    "never responds": () => undefined,
    "sends headers slowly and endlessly": (socket) => {
      socket.write("HTTP/1.1 200 OK\r\n");
      const drip = setInterval(() => socket.write("X-Drip: 1\r\n"), 20);
      socket.on("close", () => clearInterval(drip));
    },
  };
  for (const [what, strange] of Object.entries(silences)) {
    it(`when the service ${what}`, async () => {
      const { url, close } = await startStrange(strange);
      const limited = { requestSeconds: 2, checkSeconds: 4, totalSeconds: 5 };
      const report = await checkConformance({ url, house: true, ...limits, ...limited }).finally(close);
      expect(report.passed).to.equal(0);
      for (const { id, verdict } of failures(report)) {
        expect(verdict, id)
          .to.have.property("seen")
          .that.matches(/no complete answer within 2 s|no result within|the run exceeded its time limit/);
      }
      expect(messagesOf(failures(report))).to.include("SYS-1: no complete answer within 2 s (GET /health)");
    });
  }

  it("when the service closes every connection while the kit waits until its keys are fetched", async () => {
    const { url, close } = await startStrange((socket) => socket.destroy());
    const report = await checkConformance({
      url,
      keys: { algorithm: "ES256" },
      probes: { protected: "/mine" },
      serveKeys: `127.0.0.1:${await freePort()}`,
      keySetPatienceSeconds: 0.2,
      only: ["AUTH-14"],
      ...limits,
    }).finally(close);
    expect(failures(report).map(({ id }) => id)).to.deep.equal(["AUTH-14"]);
  });

  it("when the service does not respond to the first sign-in, or to a later one", async () => {
    for (const patience of [0, 3]) {
      const session = {
        request: "POST /session",
        accessToken: "access",
        refreshToken: "refresh",
        route: "/mine",
      };
      await using foreign = await startForeign();
      let signIns = 0;
      await using halting = await listen(
        createServer((req, res) => {
          if (req.url === "/session" && ++signIns > patience) return;
          relay(req, res, foreign.url);
        }),
      );
      const end: unknown = await checkConformance({
        url: halting.url,
        probes: { session: { ...session, graceSeconds: 1 } },
        ...limits,
        requestSeconds: 2,
        only: ["REF-1"],
      }).catch((error: unknown) => error);
      const reason = "no complete answer within 2 s (POST /session)";
      if (patience === 0) expect((end as InvalidUse).faults).to.deep.equal([`probes.session: ${reason}`]);
      else expect(messagesOf(failures(end as ConformanceReport))).to.deep.equal([`REF-1: ${reason}`]);
    }
  });

  it("when the service rate-limits sign-ins", async () => {
    await using limited = await listen(createServer((_req, res) => void res.writeHead(429).end()));
    const fault: unknown = await checkConformance({
      url: limited.url,
      probes: { session: { request: "POST /session", graceSeconds: 0 } },
      ...limits,
    }).catch((error: unknown) => error);
    expect((fault as InvalidUse).faults).to.deep.equal([
      "probes.session: the sign-in returned 429 without a token pair; raise the limit on sign-ins for the test",
    ]);
  });

  it("with a report that omits a password and a secret that the service echoes", async () => {
    const [password, secret] = ['quote " within', "a-secret-of-forty-characters-or-somewhat-more"];
    await using foreign = await startForeign();
    const { accessToken, refreshToken } = { accessToken: "access", refreshToken: "refresh" };
    await using talking = await listen(
      createServer((req, res) => {
        if (req.url === "/session" || req.url === "/mine") {
          return relay(req, res, foreign.url);
        }
        res.writeHead(401, { "Content-Type": "application/problem+json" });
        res.end(
          JSON.stringify({
            type: "about:blank",
            title: `wrong: ${password}`,
            detail: `key ${secret}`,
            status: 401,
          }),
        );
      }),
    );
    const report = await checkConformance({
      url: talking.url,
      keys: { algorithm: "HS256", secret },
      probes: {
        session: {
          request: { path: "/session", body: { user: { password } } },
          accessToken,
          refreshToken,
          route: "/mine",
          graceSeconds: 1,
        },
      },
      house: true,
      ...limits,
    });
    expect(messagesOf(failures(report)).join("\n")).to.contain("<secret>");
    const written = `${JSON.stringify(report)}${asTable(report)}${asJUnit(report)}`;
    expect(written).not.to.contain(secret);
    expect(written).not.to.match(/quote .{0,6} within/);
  });

  it("with a report that omits a token that the service echoes", async () => {
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
      });
      expect(report.failed).to.be.above(10);
      expect(JSON.stringify(report)).not.to.match(/eyJ[\w-]{10,}\.[\w-]{10,}/);
    } finally {
      echo.close();
    }
  });
});

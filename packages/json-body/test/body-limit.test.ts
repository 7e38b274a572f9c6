import { pipeline } from "node:stream/promises";
import { Writable } from "node:stream";
import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { setImmediate as untilLater } from "node:timers/promises";
import { bodyLimit, jsonBody } from "@svc/json-body";
import { ConfigurationError } from "@svc/options";
import { notFound, problemHandler } from "@svc/problem";
import { expressMajors, listen, rawRequest } from "@svc/test-support";
import { expect } from "chai";

interface Answer {
  readonly status: number | undefined;
  readonly type: string | undefined;
  readonly text: string;
}

/** Sends a chunked body, and stops when the response arrives. */
function sendChunks(url: string, chunks: readonly string[]): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const req = request(url, { method: "POST", headers: { "content-type": "text/csv" } }, (res) => {
      let text = "";
      res.setEncoding("utf8");
      res.on("data", (each: string) => (text += each));
      res.on("close", () => resolve({ status: res.statusCode, type: res.headers["content-type"], text }));
    });
    req.on("error", reject);
    for (const chunk of chunks) req.write(chunk);
    req.end();
  });
}

for (const [name, express] of Object.entries(expressMajors)) {
  describe(`bodyLimit on ${name}`, () => {
    function app(): ReturnType<typeof express> {
      const made = express();
      made.use(bodyLimit({ maxBytes: 100 }), jsonBody());
      made.post("/count", (req, res, next) => {
        let size = 0;
        const count = new Writable({
          write(chunk: Buffer, _encoding, done) {
            size += chunk.length;
            done();
          },
        });
        pipeline(req, count).then(() => res.json({ size }), next);
      });
      made.use(notFound(), problemHandler());
      return made;
    }

    it("LIM-1 LIM-3 counts a chunked body of any type as it arrives and returns 413", async () => {
      await using server = await listen(app());
      const answer = await sendChunks(`${server.url}/count`, [
        "a".repeat(60),
        "b".repeat(60),
        "c".repeat(60),
      ]);
      expect(answer.status).to.equal(413);
      expect(answer.type).to.equal("application/problem+json");
      expect(JSON.parse(answer.text)).to.include({ title: "Payload Too Large", status: 413 });
    });

    it("accepts a chunked body whose size equals the limit", async () => {
      await using server = await listen(app());
      const answer = await sendChunks(`${server.url}/count`, ["a".repeat(60), "b".repeat(40)]);
      expect(answer.status).to.equal(200);
      expect(JSON.parse(answer.text)).to.deep.equal({ size: 100 });
    });

    it("LIM-3 counts what arrived while asynchronous middleware ran in front", async () => {
      for (const sizes of [[60, 60], [60, 40], [101]]) {
        const made = express();
        made.use(async (req, _res, next) => {
          while (!req.complete || req.readableLength < sizes.reduce((sum, size) => sum + size))
            await untilLater();
          next();
        });
        made.use(app());
        await using server = await listen(made);
        const answer = await sendChunks(
          `${server.url}/count`,
          sizes.map((size) => "a".repeat(size)),
        );
        expect(answer.status, sizes.join()).to.equal(sizes.join() === "60,40" ? 200 : 413);
      }
    });

    it("LIM-2 rejects a Content-Length over the limit before the body is sent", async () => {
      await using server = await listen(app());
      const status = await new Promise<number | undefined>((resolve, reject) => {
        const req = request(`${server.url}/count`, { method: "POST", headers: { "content-length": "101" } });
        req.on("response", (res) => {
          resolve(res.statusCode);
          req.destroy();
        });
        req.on("error", reject);
        req.flushHeaders();
      });
      expect(status).to.equal(413);
    });

    it("LIM-3 sends one 413, and logs no error, when jsonBody follows", async () => {
      const levels: string[] = [];
      let settle: () => void = () => undefined;
      const logged = new Promise<void>((resolve) => (settle = resolve));
      const note =
        (level: string): (() => void) =>
        () => {
          levels.push(level);
          settle();
        };
      const logger = {
        debug: note("debug"),
        info: note("info"),
        warn: note("warn"),
        error: note("error"),
        fatal: note("fatal"),
      };
      const made = express();
      made.use(bodyLimit({ maxBytes: 100 }), jsonBody({ maxBytes: 100 }));
      made.use(problemHandler({ logger }));
      await using server = await listen(made);
      const chunk = `32\r\n${" ".repeat(50)}\r\n`;
      const head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n";
      const bytes = `${head}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(3)}0\r\n\r\n`;
      const { text, status } = await rawRequest(server.port, bytes);
      expect(status).to.equal(413);
      expect(text.match(/HTTP\/1\.1/g)).to.have.lengthOf(1);
      await logged;
      expect(levels).to.deep.equal(["debug"]);
    });

    it("LIM-3 causes an error in the request stream that a handler reads", async () => {
      let settle: (error: unknown) => void = () => undefined;
      const outcome = new Promise<unknown>((resolve) => (settle = resolve));
      const made = express();
      made.use(bodyLimit({ maxBytes: 100 }));
      made.use((req) => {
        req.toArray().then(() => settle("ended"), settle);
      });
      await using server = await listen(made);
      const answer = await sendChunks(server.url, ["a".repeat(60), "b".repeat(60)]);
      expect(answer.status).to.equal(413);
      expect(await outcome).to.include({ status: 413, code: "ERR_SVC_BODY_TOO_LARGE" });
    });

    it("LIM-3 discards the handler's later response, which would otherwise end the process", async () => {
      let settle: (outcome: unknown) => void = () => undefined;
      const outcome = new Promise<unknown>((resolve) => (settle = resolve));
      const made = express();
      made.use(bodyLimit({ maxBytes: 100 }));
      made.use((req, res) => {
        req.on("error", () => {
          setImmediate(() => {
            try {
              res.status(201).set("X-Late", "1").json({ late: true });
              settle("answered");
            } catch (error) {
              settle(error);
            }
          });
        });
        req.resume();
      });
      await using server = await listen(made);
      const answer = await sendChunks(server.url, ["a".repeat(60), "b".repeat(60)]);
      expect([answer.status, answer.text]).to.satisfy(
        ([status, text]: [number, string]) => status === 413 && !text.includes("late"),
      );
      expect(await outcome).to.equal("answered");
    });

    it("passes requests without a body", async () => {
      await using server = await listen(app());
      expect((await fetch(`${server.url}/count`)).status).to.equal(405);
    });
  });
}

describe("bodyLimit", () => {
  it("rejects an invalid limit", () => {
    expect(() => bodyLimit({ maxBytes: 0 })).to.throw(ConfigurationError, "maxBytes");
  });
});

describe("bodyLimit before jsonBody", () => {
  it("ERR-18 sends jsonBody's 415, not a 413, when the rest of a refused chunked body exceeds the limit", async () => {
    const app = expressMajors["express 5"]();
    app.use(bodyLimit({ maxBytes: 1000 }), jsonBody({ maxBytes: 1000 }));
    app.use(notFound(), problemHandler());
    await using server = await listen(app);
    const socket = connect(server.port, "127.0.0.1");
    await once(socket, "connect");
    const head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Encoding: none\r\n";
    const chunk = `7d0\r\n${"[".repeat(2000)}\r\n`;
    socket.write(`${head}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`);
    socket.write(`${chunk}0\r\n\r\n`);
    let text = "";
    for await (const part of socket) text += String(part);
    expect(text).to.match(/^HTTP\/1\.1 415 /);
    expect(text).to.contain('"status":415');
  });
});

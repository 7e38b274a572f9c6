import { once } from "node:events";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { connect } from "node:net";
import { onResponseEnd } from "@svc/context";
import { expressMajors, listen, rawRequest } from "@svc/test-support";
import { expect } from "chai";

type Handler = (req: IncomingMessage, res: ServerResponse) => void;

const servers: Readonly<Record<string, (handler: Handler) => RequestListener>> = {
  "bare http": (handler) => handler,
  ...Object.fromEntries(
    Object.entries(expressMajors).map(([name, express]) => [
      name,
      (handler: Handler): RequestListener => express().use(handler) as unknown as RequestListener,
    ]),
  ),
};

for (const [name, serve] of Object.entries(servers)) {
  describe(`onResponseEnd on ${name}`, () => {
    it("calls every listener once, in order, with the request, the response and aborted = false", async () => {
      const calls: unknown[] = [];
      const end = Promise.withResolvers<void>();
      await using server = await listen(
        serve((req, res) => {
          for (const label of ["a", "b", "c"]) {
            onResponseEnd(req, res, (request, response, aborted) => {
              calls.push([label, request === req, response === res, aborted]);
              if (label === "c") setTimeout(end.resolve, 20);
            });
          }
          expect(res.listenerCount("close") - closeListenersOfNode).to.equal(1);
          res.end("ok");
        }),
      );
      expect(await (await fetch(server.url)).text()).to.equal("ok");
      await end.promise;
      expect(calls).to.eql([
        ["a", true, true, false],
        ["b", true, true, false],
        ["c", true, true, false],
      ]);
    });

    it("reports aborted when the client disconnects before the response is complete", async () => {
      const end = Promise.withResolvers<boolean>();
      let calls = 0;
      await using server = await listen(
        serve((req, res) => {
          onResponseEnd(req, res, (_req, _res, aborted) => {
            calls++;
            end.resolve(aborted);
          });
          res.write("the first part");
        }),
      );
      const client = connect(server.port, "127.0.0.1");
      client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
      await once(client, "data");
      client.destroy();
      expect(await end.promise).to.equal(true);
      await new Promise(setImmediate);
      expect(calls).to.equal(1);
    });

    it("reports aborted when the handler destroys the connection", async () => {
      const end = Promise.withResolvers<boolean>();
      await using server = await listen(
        serve((req, res) => {
          onResponseEnd(req, res, (_req, _res, aborted) => end.resolve(aborted));
          res.destroy();
        }),
      );
      await rawRequest(server.port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
      expect(await end.promise).to.equal(true);
    });

    it("reports aborted for each pipelined request when the client disconnects", async () => {
      const all = Promise.withResolvers<void>();
      const aborted: string[] = [];
      const arrived = Promise.withResolvers<void>();
      await using server = await listen(
        serve((req, res) => {
          onResponseEnd(req, res, (request, _res, gone) => {
            aborted.push(`${request.url} ${gone}`);
            if (aborted.length === 3) all.resolve();
          });
          // The second response is complete, but is sent after the first.
          if (req.url === "/2") res.end("ready");
          if (req.url === "/3") arrived.resolve();
        }),
      );
      const client = connect(server.port, "127.0.0.1");
      client.write(["/1", "/2", "/3"].map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(""));
      await arrived.promise;
      client.destroy();
      await all.promise;
      expect(aborted).to.have.members(["/1 true", "/2 true", "/3 true"]);
    });

    it("reports every response on a connection that is kept alive", async () => {
      const urls: (string | undefined)[] = [];
      await using server = await listen(
        serve((req, res) => {
          onResponseEnd(req, res, (request) => urls.push(request.url));
          res.statusCode = 204;
          res.end();
        }),
      );
      const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
      await rawRequest(server.port, get("/1") + get("/2") + get("/3"));
      expect(urls).to.eql(["/1", "/2", "/3"]);
    });
  });
}

// Node itself adds listeners for `close` to a response.
let closeListenersOfNode = 0;
before(async () => {
  await using server = await listen((_req, res) => {
    closeListenersOfNode = res.listenerCount("close");
    res.end();
  });
  await fetch(server.url);
});

describe("onResponseEnd", () => {
  it("calls a listener on the next tick if it is added after the end", async () => {
    const late = Promise.withResolvers<boolean>();
    await using server = await listen((req, res) => {
      res.on("close", () => onResponseEnd(req, res, (_req, _res, aborted) => late.resolve(aborted)));
      res.end("ok");
    });
    await (await fetch(server.url)).text();
    expect(await late.promise).to.equal(false);
  });

  it("calls a listener that another listener adds", async () => {
    const late = Promise.withResolvers<boolean>();
    await using server = await listen((req, res) => {
      onResponseEnd(req, res, () => onResponseEnd(req, res, (_req, _res, aborted) => late.resolve(aborted)));
      res.end("ok");
    });
    await (await fetch(server.url)).text();
    expect(await late.promise).to.equal(false);
  });

  it("calls the other listeners when a listener throws, and rethrows the error", async () => {
    const calls: string[] = [];
    const outcome = Promise.withResolvers<unknown>();
    await using server = await listen((req, res) => {
      onResponseEnd(req, res, () => calls.push("a"));
      onResponseEnd(req, res, () => {
        throw new Error("b failed");
      });
      onResponseEnd(req, res, () => calls.push("c"));
      try {
        res.emit("close");
      } catch (error) {
        outcome.resolve(error);
      }
      res.end("ok");
    });
    await (await fetch(server.url)).text();
    expect(await outcome.promise).to.have.property("message", "b failed");
    expect(calls).to.eql(["a", "c"]);
  });

  it("adds one event listener when two installed copies are loaded", async () => {
    const url = new URL("../src/response-end.ts?copy=2", import.meta.url).href;
    const other = (await import(url)) as typeof import("@svc/context");
    const calls: string[] = [];
    const end = Promise.withResolvers<void>();
    await using server = await listen((req, res) => {
      onResponseEnd(req, res, () => calls.push("mine"));
      other.onResponseEnd(req, res, () => {
        calls.push("theirs");
        end.resolve();
      });
      expect(res.listenerCount("close") - closeListenersOfNode).to.equal(1);
      res.end("ok");
    });
    await (await fetch(server.url)).text();
    await end.promise;
    expect(calls).to.eql(["mine", "theirs"]);
  });
});

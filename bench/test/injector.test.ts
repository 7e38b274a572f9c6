import { AsyncLocalStorage } from "node:async_hooks";
import { once } from "node:events";
import { createServer, IncomingMessage, ServerResponse } from "node:http";
import { expressMajors, listen, rawRequest } from "@svc/test-support";
import { expect } from "chai";
import { createInjector } from "../harness/injector.ts";
import { requestBytes } from "../harness/request-bytes.ts";
import { openTraffic } from "../http/route.ts";

describe("the injector", () => {
  for (const [name, express] of Object.entries(expressMajors)) {
    it(`gets the same response from ${name} as a client over a socket`, async () => {
      const app = express();
      app.post("/echo/:id", (req, res) => {
        res.status(201).json({ id: req.params["id"], agent: req.get("User-Agent"), ip: req.ip });
      });
      const server = createServer(app);
      const injected = await createInjector(server).send("POST", "/echo/7?x=1", { "User-Agent": "tester" });
      await using listening = await listen(server);
      const head = "POST /echo/7?x=1 HTTP/1.1\r\nHost: localhost\r\nUser-Agent: tester\r\n\r\n";
      const real = await rawRequest(listening.port, head);
      expect({ ...injected, headers: { ...injected.headers, date: "" } }).to.deep.equal({
        status: real.status,
        headers: { ...real.headers, date: "" },
        body: real.body,
      });
      expect(JSON.parse(injected.body)).to.deep.equal({ id: "7", agent: "tester", ip: "127.0.0.1" });
    });
  }

  it("creates requests and responses of the server's own classes", async () => {
    class OwnRequest extends IncomingMessage {}
    class OwnResponse extends ServerResponse<OwnRequest> {}
    const seen: boolean[] = [];
    const server = createServer({ IncomingMessage: OwnRequest, ServerResponse: OwnResponse }, (req, res) => {
      seen.push(req instanceof OwnRequest, res instanceof OwnResponse);
      res.end();
    });
    await createInjector(server).send("GET", "/");
    expect(seen).to.deep.equal([true, true]);
  });

  it("calls every request listener of the server in order", async () => {
    const seen: string[] = [];
    const server = createServer((_req, res) => {
      seen.push("last");
      res.end();
    });
    server.prependListener("request", () => seen.push("first"));
    await createInjector(server).send("GET", "/");
    expect(seen).to.deep.equal(["first", "last"]);
  });

  it("emits the same end events as Node's server: each event once, and close after finish", async () => {
    const events = async (kind: "injected" | "real"): Promise<readonly string[]> => {
      const seen: string[] = [];
      const server = createServer((req, res) => {
        req.on("end", () => seen.push("end of request"));
        req.on("close", () => seen.push("close of request"));
        res.on("finish", () => seen.push("finish"));
        res.on("close", () => {
          seen.push(`close, ${res.writableFinished ? "" : "not "}finished`);
          setImmediate(() => server.emit("answered"));
        });
        res.end("x");
      });
      const answered = once(server, "answered");
      if (kind === "injected") {
        await createInjector(server).send("GET", "/");
        await answered;
      } else {
        await using listening = await listen(server);
        await fetch(listening.url).then((response) => response.text());
        await answered;
      }
      return seen.toSorted();
    };
    const injected = await events("injected");
    expect(injected).to.deep.equal(["close of request", "close, finished", "end of request", "finish"]);
    expect(injected).to.deep.equal(await events("real"));
  });

  it("sends the requested number of requests in rotation, and continues where it stopped", async () => {
    const urls: string[] = [];
    const server = createServer((req, res) => {
      urls.push(req.url ?? "");
      res.end();
    });
    const injector = createInjector(server);
    const rotation = ["/a", "/b", "/c"].map((url) => requestBytes("GET", url, {}));
    await injector.run(rotation, 4);
    await injector.run(rotation, 3);
    expect(urls).to.deep.equal(["/a", "/b", "/c", "/a", "/b", "/c", "/a"]);
  });

  it("starts each request outside the asynchronous context of the previous one", async () => {
    const storage = new AsyncLocalStorage<number>();
    const seen: (number | undefined)[] = [];
    const server = createServer((_req, res) => {
      seen.push(storage.getStore());
      storage.run(seen.length, () => res.end());
    });
    // This number exceeds the requests that share a turn of the event loop.
    await createInjector(server).run(openTraffic.requests, 40);
    expect(seen).to.deep.equal(Array.from({ length: 40 }, () => undefined));
  });

  it("rejects when a response has a status other than 200", async () => {
    const server = createServer((_req, res) => {
      res.statusCode = 500;
      res.end();
    });
    const run = createInjector(server).run(openTraffic.requests, 10);
    expect(await run.catch((error: Error) => error.message)).to.equal("a request returned 500");
  });
});

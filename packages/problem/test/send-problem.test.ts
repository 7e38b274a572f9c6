import { once } from "node:events";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { expect } from "chai";
import { openContext } from "@svc/context";
import { ProblemError, sendJson, sendProblem, silence, unauthorized } from "@svc/problem";
import { rawRequest } from "@svc/test-support";
import { ask, serve, stacks } from "./support/stacks.ts";

for (const stack of stacks) {
  describe(`sendProblem on ${stack}`, () => {
    it("ERR-1 ERR-2 sends the six members as exactly application/problem+json", async () => {
      await using server = await serve(stack, (req, res) =>
        sendProblem(req, res, new ProblemError(403, "no")),
      );
      const { status, headers, body } = await ask(`${server.url}/a/b`);
      expect(status).to.equal(403);
      expect(headers.get("content-type")).to.equal("application/problem+json");
      expect(headers.get("cache-control")).to.equal("no-store");
      expect(headers.get("content-length")).to.equal(String(JSON.stringify(body).length));
      expect(body).to.deep.equal({
        type: "about:blank",
        title: "Forbidden",
        status: 403,
        detail: "no",
        instance: "/a/b",
        request_id: headers.get("x-request-id"),
      });
    });

    it("ERR-2 fills in type and detail when the caller sets neither", async () => {
      await using server = await serve(stack, (req, res) => sendProblem(req, res, { status: 409 }));
      expect((await ask(server.url)).body).to.include({
        type: "about:blank",
        status: 409,
        detail: "Conflict",
      });
    });

    it("ERR-3 sends the title as the reason phrase in the status line", async () => {
      await using server = await serve(stack, (req, res) => sendProblem(req, res, new ProblemError(413)));
      const { text } = await rawRequest(
        server.port,
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
      );
      expect(text).to.match(/^HTTP\/1\.1 413 Payload Too Large\r\n/);
      expect(text).to.contain('"title":"Payload Too Large"');
    });

    it("ERR-4 sends only the path as instance, even for an absolute target", async () => {
      await using server = await serve(stack, (_req, _res, next) => next(new ProblemError(400)));
      const answers: string[] = [];
      for (const target of [
        "/a/b?x=1",
        "http://other.test/c/d?x=1",
        "http://other.test",
        '/q"\\?y',
        "//evil/x",
      ]) {
        const { body } = await rawRequest(
          server.port,
          `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
        );
        answers.push((JSON.parse(body) as { instance: string }).instance);
      }
      expect(answers).to.deep.equal(["/a/b", "/c/d", "/", '/q"\\', "//evil/x"]);
    });

    it("ERR-5 uses the id in the context or on the response, else a new id", async () => {
      await using server = await serve(stack, (req, res) => {
        if (req.url === "/set") openContext(req).requestId = "from-context";
        if (req.url === "/header") res.setHeader("X-Request-ID", "from-header");
        sendProblem(req, res, new ProblemError(404));
      });
      const minted = await ask(server.url);
      expect(minted.body.request_id).to.match(/^[0-9a-f]{32}$/);
      expect(minted.headers.get("x-request-id")).to.equal(minted.body.request_id);
      for (const [path, id] of [
        ["/set", "from-context"],
        ["/header", "from-header"],
      ] as const) {
        const { headers, body } = await ask(server.url + path);
        expect([headers.get("x-request-id"), body.request_id]).to.deep.equal([id, id]);
      }
    });

    it("COR-1 COR-7 reuses the caller's id only when it is acceptable", async () => {
      await using server = await serve(stack, (req, res) => sendProblem(req, res, new ProblemError(404)));
      const send = async (id: string): Promise<string> => {
        const { body } = await ask(server.url, { headers: { "X-Request-ID": id } });
        return body.request_id;
      };
      expect(await send("caller-1")).to.equal("caller-1");
      expect(await send("two words")).to.match(/^[0-9a-f]{32}$/);
      expect(await send("x".repeat(129))).to.match(/^[0-9a-f]{32}$/);
    });

    it("ERR-6 adds extra members at the top level, and never replaces the six standard members", async () => {
      const extensions = JSON.parse(
        '{"__proto__":{"x":1},"status":200,"request_id":"forged","limit":3}',
      ) as object;
      const more = { ...extensions, big: 10n, gone: undefined };
      Object.defineProperty(more, "bad", {
        enumerable: true,
        get() {
          throw new Error("no");
        },
      });
      await using server = await serve(stack, (req, res) =>
        sendProblem(req, res, new ProblemError(429, "slow down", { extensions: more })),
      );
      const { body, headers } = await ask(server.url);
      expect(body).to.include({ status: 429, request_id: headers.get("x-request-id"), limit: 3, big: "10" });
      expect(Object.keys(body)).to.not.include("gone");
      expect(Object.hasOwn(body, "__proto__")).to.equal(false);
    });

    it("ERR-12 names a scheme in every 401: the given scheme or Bearer", async () => {
      await using server = await serve(stack, (req, res) => {
        const own = new ProblemError(401, "no key", { headers: { "WWW-Authenticate": "ApiKey" } });
        const bare = req.url === "/plain" ? new ProblemError(401, "invalid refresh token") : unauthorized();
        sendProblem(req, res, req.url === "/own" ? own : bare);
      });
      const [plain, ready, own] = await Promise.all(
        ["/plain", "/", "/own"].map((path) => ask(server.url + path)),
      );
      expect(plain?.headers.get("www-authenticate")).to.equal("Bearer");
      expect(ready?.headers.get("www-authenticate")).to.equal("Bearer");
      expect(ready?.body).to.include({ title: "Unauthorized", detail: "authentication required" });
      expect(own?.headers.get("www-authenticate")).to.equal("ApiKey");
    });

    it("ERR-1 responds to HEAD with headers and no body", async () => {
      await using server = await serve(stack, (req, res) => sendProblem(req, res, new ProblemError(404)));
      const { text, headers, body } = await rawRequest(
        server.port,
        "HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
      );
      expect(text).to.match(/^HTTP\/1\.1 404 /);
      expect(Number(headers["content-length"])).to.be.greaterThan(100);
      expect(body).to.equal("");
    });

    it("ERR-1 drops headers that describe the body of the handler, and invalid headers", async () => {
      await using server = await serve(stack, (req, res) => {
        res.setHeader("ETag", '"x"');
        res.setHeader("Content-Encoding", "gzip");
        res.setHeader("Content-Length", 5);
        const headers = { "X-Bad": "a\r\nb", "X-Good": "1", "Content-Type": "text/html" };
        sendProblem(req, res, new ProblemError(400, "x", { headers }));
      });
      const { headers } = await ask(server.url);
      expect(headers.get("etag")).to.equal(null);
      expect(headers.get("content-encoding")).to.equal(null);
      expect(headers.get("x-bad")).to.equal(null);
      expect(headers.get("x-good")).to.equal("1");
      expect(headers.get("content-type")).to.equal("application/problem+json");
    });

    it("ERR-1 destroys the connection when part of the response has been sent", async () => {
      await using server = await serve(stack, (req, res) => {
        res.writeHead(200, { "Content-Length": "100" });
        res.write("half");
        setImmediate(() => sendProblem(req, res, new ProblemError(500)));
      });
      const { status, text } = await rawRequest(server.port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      expect(status).to.equal(200);
      expect(text).to.not.contain("problem");
    });

    it("ERR-1 responds immediately while the client is still sending, and closes the connection when the client has finished", async () => {
      const refusal = new ProblemError(413, "too much", { headers: { Connection: "close" } });
      await using server = await serve(stack, (req, res) => sendProblem(req, res, refusal));
      const socket = connect(server.port, "127.0.0.1");
      let text = "";
      socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
      socket.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf");
      await once(socket, "data");
      expect(text).to.match(/^HTTP\/1\.1 413 /);
      socket.write(" done.");
      await once(socket, "close");
      expect(JSON.parse(text.slice(text.indexOf("{")))).to.include({ status: 413, detail: "too much" });
    });

    it("ERR-1 closes the connection of a client that never sends the rest of its body", async () => {
      const refusal = new ProblemError(413, "too much", { headers: { Connection: "close" } });
      await using server = await serve(stack, (req, res) => sendProblem(req, res, refusal));
      const socket = connect(server.port, "127.0.0.1");
      let text = "";
      socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
      socket.write("HEAD / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf");
      await once(socket, "close");
      expect(text).to.match(/^HTTP\/1\.1 413 [\s\S]*\r\n\r\n$/);
    });

    it("SYS-8 sendJson sends exactly application/json, and sends buffers unchanged", async () => {
      await using server = await serve(stack, (req, res) => {
        const value = req.url === "/buffer" ? Buffer.from('{"a":2}') : { a: 1 };
        sendJson(req, res, 200, value, { "Cache-Control": "no-store" });
      });
      const plain = await ask(server.url);
      expect(plain.headers.get("content-type")).to.equal("application/json");
      expect(plain.headers.get("cache-control")).to.equal("no-store");
      expect(plain.body).to.deep.equal({ a: 1 });
      expect((await ask(`${server.url}/buffer`)).body).to.deep.equal({ a: 2 });
      expect((await ask(server.url, { method: "HEAD" })).headers.get("content-length")).to.equal("7");
    });

    it("sendJson throws for a value without a JSON form", async () => {
      await using server = await serve(stack, (req, res) => sendJson(req, res, 200, undefined), {
        debug: true,
      });
      const { status, body } = await ask(server.url);
      expect(status).to.equal(500);
      expect(body.detail).to.equal("a value of type undefined cannot be serialized as JSON");
    });
  });
}

for (const stack of stacks) {
  describe(`silence() on ${stack}`, () => {
    it("lets the handler respond afterwards without an error or a second response, and calls its callbacks", async () => {
      const { promise, resolve } = Promise.withResolvers<unknown>();
      await using server = await serve(stack, (req, res) => {
        sendProblem(req, res, new ProblemError(504));
        silence(res);
        const late = async (): Promise<string> => {
          res.statusCode = 201;
          res.setHeader("X-Late", "1");
          res.removeHeader("X-Request-ID");
          res.writeHead(200, { "X-Late": "2" });
          await new Promise<void>((done) => void res.write("late", () => done()));
          await new Promise<void>((done) => void res.end("late", "utf8", () => done()));
          const source = new Readable({ read() {} });
          source.pipe(res);
          return source.destroyed ? "silent" : "still open";
        };
        setImmediate(() => void late().then(resolve, resolve));
      });
      const { status, headers, body } = await ask(server.url);
      expect([status, headers.get("x-late"), body.status]).to.deep.equal([504, null, 504]);
      expect(await promise).to.equal("silent");
    });
  });
}

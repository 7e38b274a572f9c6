import { PassThrough } from "node:stream";
import { bodyOf, jsonBody, readText } from "@svc/json-body";
import { unauthorized } from "@svc/problem";
import { rawRequest } from "@svc/test-support";
import { expect } from "chai";
import type express5 from "express";
import type { Express, Request, RequestHandler, Response } from "express";
import request from "supertest";
import { runChild } from "./support/child.ts";
import { onBothMajors } from "./support/majors.ts";
import { makeService, startService } from "./support/test-service.ts";

const bodies: Readonly<Record<string, string>> = {
  "text/plain": "name=ann",
  "application/x-www-form-urlencoded": "name=ann",
  "application/xml": "<name>ann</name>",
  "multipart/form-data; boundary=x":
    '--x\r\nContent-Disposition: form-data; name="name"\r\n\r\nann\r\n--x--\r\n',
  "application/octet-stream": "ann",
  "": "ann",
};
const form = "application/x-www-form-urlencoded";

/** The number of handlers that continued after they had read `req.body`. */
let reached = 0;

const echo: RequestHandler = (req, res) => {
  const body: unknown = req.body;
  reached++;
  res.status(201).json({ got: body ?? null });
};

/** Sets `req.body` to a new object and then reads the stream, as multer does. */
const upload: RequestHandler = (req, _res, next) => {
  if (req.is("multipart") !== "multipart") return next();
  req.body = Object.create(null) as object;
  const sink = new PassThrough();
  req.pipe(sink);
  sink.on("data", (chunk: Buffer) => {
    (req.body as { size?: number }).size = ((req.body as { size?: number }).size ?? 0) + chunk.length;
  });
  sink.once("end", () => next());
};

/** Sets `_body` and a placeholder in `req.body`, and later replaces the placeholder, as parsers for Express 4 do. */
const xml: RequestHandler = (req, _res, next) => {
  const flagged = req as Request & { _body?: boolean };
  if (flagged._body === true) return next();
  req.body = (req.body as unknown) || {};
  if (req.is("application/xml") === false) return next();
  flagged._body = true;
  void readText(req, { maxBytes: 1000 }).then((text) => {
    req.body = { xml: text };
    next();
  }, next);
};

function routes(express: typeof express5): (app: Express) => void {
  return (app) => {
    // Sanitizers read `req.body` of every request in this way.
    app.use((req, _res, next) => {
      const body: unknown = req.body;
      if (typeof body === "object" && body !== null) delete (body as Record<string, unknown>)["$where"];
      next();
    });
    app.post("/orders", echo);
    app.post("/name", (req, res) => res.json({ name: (req.body as { name: string }).name }));
    app.post("/optional", (req, res) => {
      const name = (req.body as { name?: string } | undefined)?.name ?? "nameless";
      reached++;
      res.json({ name });
    });
    app.get("/orders", echo);
    app.delete("/orders", echo);
    app.post("/text", express.text(), echo);
    app.post("/form", express.urlencoded({ extended: false }), echo);
    app.post("/raw", express.raw({ type: "*/*" }), (req, res) => res.json({ got: String(req.body) }));
    app.post("/several", express.json(), express.text(), express.urlencoded({ extended: false }), echo);
    app.post("/upload", upload, echo);
    app.post("/xml", xml, echo);
    app.post("/twice", jsonBody({ maxBytes: 10 }), echo);
    app.post("/blind", (_req, res) => res.json({ got: "unseen" }));
    app.post("/private", (_req, _res, next) => next(unauthorized()), echo);
    app.post("/data", (req, res) => {
      let text = "";
      req.on("data", (chunk: Buffer) => (text += chunk.toString()));
      // `req.body` is undefined after the handler has added a listener.
      const body: unknown = req.body;
      req.on("end", () => res.json({ got: text, body: body ?? null }));
    });
    app.post("/pipe", (req, res) => void req.pipe(res));
    app.post("/iterated", (req, res, next) => {
      void iterated(req, res).catch(next);
    });
    app.post("/read", (req, res, next) => {
      expect(bodyOf(req)).to.equal(undefined);
      readText(req, { maxBytes: 1000 }).then((text) => res.json({ got: text }), next);
    });
    app.post("/set", (req, _res, next) => {
      req.body = { set: true };
      next();
    });
    app.post("/set", echo);
    const router = express.Router();
    router.post("/orders", echo);
    app.use("/nested", router);
    const mounted = express();
    mounted.post("/orders", echo);
    app.use("/mounted", mounted);
    app.use("/late", express.text());
    app.post("/late", echo);
  };
}

async function iterated(req: Request, res: Response): Promise<void> {
  let text = "";
  for await (const chunk of req) text += String(chunk);
  res.json({ got: text });
}

describe("a body whose type no parser in the route accepts", () => {
  onBothMajors((express) => {
    for (const [type, body] of Object.entries(bodies)) {
      it(`gets a 415 problem, and the handler does not continue: ${type || "no type"} (ERR-18)`, async () => {
        await using test = await startService({ app: express(), routes: routes(express) });
        reached = 0;
        for (const path of ["/orders", "/name", "/optional", "/nested/orders", "/mounted/orders", "/twice"]) {
          const head = `POST ${path} HTTP/1.1\r\nHost: x\r\n${type && `Content-Type: ${type}\r\n`}`;
          const answer = await rawRequest(
            test.port,
            `${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
          );
          expect([path, answer.status]).to.deep.equal([path, 415]);
          expect(answer.headers).to.include({
            "content-type": "application/problem+json",
            accept: "application/json, application/*+json",
          });
          expect(JSON.parse(answer.body)).to.include({
            title: "Unsupported Media Type",
            detail: "no parser of this route accepts a body of this content type",
            instance: path,
            request_id: answer.headers["x-request-id"],
          });
        }
        expect(reached).to.equal(0);
        expect(test.lines.filter(({ level }) => level === "error" || level === "fatal")).to.deep.equal([]);
      });
    }

    it("gets a 415 problem after parsers for other types (ERR-18)", async () => {
      await using test = await startService({ app: express(), routes: routes(express) });
      for (const path of ["/text", "/form", "/several", "/upload", "/xml", "/late"]) {
        const answer = await request(test.url).post(path).type("application/yaml").send("a: 1");
        expect([path, answer.status]).to.deep.equal([path, 415]);
      }
    });

    for (const [path, type, got] of [
      ["/text", "text/plain", "name=ann"],
      ["/late", "text/plain", "name=ann"],
      ["/form", form, { name: "ann" }],
      ["/raw", "application/octet-stream", "name=ann"],
      ["/several", "text/plain", "name=ann"],
      ["/several", form, { name: "ann" }],
      ["/several", "application/json", { name: "ann" }],
      ["/upload", "multipart/form-data; boundary=x", { size: 8 }],
      ["/xml", "application/xml", { xml: "name=ann" }],
      ["/set", "text/plain", { set: true }],
      ["/blind", "text/plain", "unseen"],
      ["/iterated", "text/plain", "name=ann"],
      ["/read", form, "name=ann"],
    ] as const) {
      it(`reaches a route that reads the body itself: ${path} reads ${type} (ERR-18)`, async () => {
        await using test = await startService({ app: express(), routes: routes(express) });
        const body = type === "application/json" ? '{"name":"ann"}' : "name=ann";
        const answer = await request(test.url).post(path).set("Content-Type", type).send(body);
        expect(answer.status).to.be.oneOf([200, 201]);
        expect(answer.body).to.deep.equal({ got });
      });
    }

    it("reaches a handler that listens or pipes, with req.body undefined (ERR-18)", async () => {
      await using test = await startService({ app: express(), routes: routes(express) });
      const heard = await request(test.url).post("/data").type("text/plain").send("hello");
      expect(heard.body).to.deep.equal({ got: "hello", body: null });
      const piped = await request(test.url).post("/pipe").type("application/yaml").buffer(true).send("a: 1");
      expect(piped.status).to.equal(200);
      // The body of the next request is still arriving when the handler begins.
      const head = "POST /data HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
      const chunked = await rawRequest(test.port, `${head}2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n`);
      expect(JSON.parse(chunked.body)).to.deep.equal({ got: "hello", body: null });
    });

    it("does not get a 415 when it is empty (ERR-18)", async () => {
      await using test = await startService({ app: express(), routes: routes(express) });
      for (const [method, more] of [
        ["POST", ""],
        ["POST", "Content-Length: 0\r\n"],
        ["POST", "Content-Type: text/plain\r\nContent-Length: 0\r\n"],
        ["GET", "Content-Length: 0\r\n"],
        ["DELETE", "Content-Length: 0\r\n"],
        ["DELETE", "Content-Type: text/plain\r\n"],
      ] as const) {
        const answer = await rawRequest(test.port, `${method} /orders HTTP/1.1\r\nHost: x\r\n${more}\r\n`);
        expect([method, more, answer.status, answer.body]).to.deep.equal([method, more, 201, '{"got":null}']);
      }
    });

    it("does not get a 415 when the request gets a 404, 405 or 401 (ERR-18)", async () => {
      await using test = await startService({ app: express(), routes: routes(express) });
      const status = async (method: "post" | "put", path: string): Promise<number> =>
        (await request(test.url)[method](path).type("text/plain").send("x")).status;
      expect(await status("post", "/nowhere")).to.equal(404);
      expect(await status("put", "/orders")).to.equal(405);
      expect(await status("post", "/private")).to.equal(401);
    });

    it("keeps the connection open for the next request (ERR-18)", async () => {
      await using test = await startService({ app: express(), routes: routes(express) });
      const first =
        "POST /orders HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 1\r\n\r\nx";
      const next = "POST /blind HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
      const { text } = await rawRequest(test.port, first + next);
      expect(text.match(/HTTP\/1\.1 (\d+)/g)).to.deep.equal(["HTTP/1.1 415", "HTTP/1.1 200"]);
    });

    it("gets a 415 even when service.app runs on another server (ERR-18)", async () => {
      const { service } = await makeService({ app: express(), routes: routes(express) });
      const answer = await request(service.app).post("/name").type("form").send("name=ann");
      expect(answer.status).to.equal(415);
      await service.stop();
    });

    it("does not get a 415 when middleware after a route reads req.body, because a parser may follow (ERR-18)", async () => {
      await using test = await startService({
        app: express(),
        routes(app) {
          app.all(/^\/notes/, (_req, _res, next) => next());
          app.use((req, _res, next) => {
            expect(req.body).to.equal(undefined);
            next();
          });
          app.post("/notes/text", express.text(), echo);
          const router = express.Router();
          router.post("/notes/passed", (_req, _res, next) => next());
          app.use(router);
          app.use((req, _res, next) => next(req.body));
          app.post("/notes/passed", echo);
          app.post("/notes/:id", echo);
        },
      });
      const send = async (path: string): Promise<unknown[]> => {
        const { status, body } = await request(test.url).post(path).type("text/plain").send("x");
        return [status, (body as { got?: unknown }).got];
      };
      expect(await send("/notes/text")).to.deep.equal([201, "x"]);
      expect(await send("/notes/passed")).to.deep.equal([415, undefined]);
      expect(await send("/notes/7")).to.deep.equal([415, undefined]);
    });

    it("does not hide a route's error from an error handler that reads req.body (ERR-18)", async () => {
      const seen: unknown[] = [];
      await using test = await startService({
        app: express(),
        routes(app) {
          app.post("/orders/:id", (req, _res, next) => next(new Error(`order ${req.params["id"]}`)));
          app.use(((error, req, _res, next) => {
            seen.push((error as Error).message, req.body);
            next(error);
          }) satisfies express5.ErrorRequestHandler);
        },
      });
      const answer = await request(test.url).post("/orders/7").type("text/plain").send("x");
      expect([answer.status, seen]).to.deep.equal([500, ["order 7", undefined]]);
    });

    it("causes a 415 error in the application's own error handler (ERR-18)", async () => {
      await using test = await startService({
        app: express(),
        routes(app) {
          app.post("/orders", echo);
          app.use(((error, _req, res, _next) => {
            res.status(418).json({ was: (error as { status: number }).status });
          }) satisfies express5.ErrorRequestHandler);
        },
      });
      const answer = await request(test.url).post("/orders").type("text/plain").send("x");
      expect([answer.status, answer.body]).to.deep.equal([418, { was: 415 }]);
    });
  });

  for (const name of ["express", "express4"]) {
    it(`gets a 415 when a promise or callback of a handler in ${name} reads it, and the process keeps running (ERR-18)`, async () => {
      await using child = await runChild(
        `import express from "${name}";
         import { startService } from "@svc/express";
         await startService({
           app: express(),
           config: { toml: '[service]\\nname = "late"\\nport = 0\\n' },
           routes(app) {
             app.post("/orders", async (req, res) => {
               await null;
               const { name } = req.body ?? {};
               res.json({ name });
             });
             app.post("/callback", (req, res) => {
               setImmediate(() => res.json({ name: req.body?.name }));
             });
           },
         });`,
      );
      await child.listening();
      for (const path of ["/orders", "/callback", "/orders"]) {
        const answer = await request(child.url()).post(path).type("text/plain").send("x");
        expect([answer.status, answer.type]).to.deep.equal([415, "application/problem+json"]);
      }
      const fine = await request(child.url()).post("/orders").send({ name: "ann" });
      expect(fine.body).to.deep.equal({ name: "ann" });
      expect(child.lines().filter(({ level }) => level === "fatal" || level === "error")).to.deep.equal([]);
    });
  }

  it("gets a 415 when an asynchronous Express 4 handler reads it behind serve() (ERR-18)", async () => {
    await using child = await runChild(
      `import express from "express4";
       import { serve } from "@svc/express";
       import { jsonBody } from "@svc/json-body";
       const app = express();
       app.use(jsonBody({ otherTypes: "refuse" }));
       app.post("/orders", async (req, res) => res.json({ got: req.body }));
       const log = (fields, message) => console.log(JSON.stringify({ ...fields, message }));
       await serve(app, { port: 0, host: "127.0.0.1", logger: { info: log, warn: log, error: log, fatal: log } });`,
    );
    await child.listening();
    for (let n = 0; n < 2; n++) {
      expect((await request(child.url()).post("/orders").type("text/plain").send("x")).status).to.equal(415);
    }
  });
});

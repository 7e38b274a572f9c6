import { setTimeout as delay } from "node:timers/promises";
import { connect } from "node:net";
import { unauthorized, sendProblem, serviceUnavailable, badRequest, conflict } from "@svc/problem";
import { rawRequest } from "@svc/test-support";
import { expect } from "chai";
import type { Express } from "express";
import request from "supertest";
import type { ErrorPage, ProblemDocument } from "../src/web/error-pages.ts";
import { onBothMajors } from "./support/majors.ts";
import { startService, type TestService, type TestServiceOptions } from "./support/test-service.ts";

const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8";
const HTML = "text/html; charset=utf-8";
const PROBLEM = "application/problem+json";

const page: ErrorPage = ({ status, title }) => `<!doctype html><h1>${status} ${title}</h1>`;

function routes(app: Express): void {
  app.get("/busy", (_req, _res, next) => next(serviceUnavailable("later", { retryAfterSeconds: 7 })));
  app.get("/closed", (_req, _res, next) => next(unauthorized()));
  app.get("/broken", () => {
    throw new Error("a secret reason");
  });
  app.get("/direct", (req, res) => sendProblem(req, res, badRequest("sent directly")));
  app.get("/varied", (_req, res, next) => {
    res.set("Vary", "Cookie").set("ETag", '"a"').set("Content-Disposition", "attachment");
    next(conflict());
  });
  app.get("/careless", (_req, res, next) => {
    next(badRequest("refused"));
    res.status(200).set("X-Leak", "yes").json({ secret: "of another person" });
  });
  app.get("/begun", (_req, res, next) => {
    res.write("begun");
    next(new Error("too late"));
  });
  app.post("/form", (req, res) => void res.json(req.body));
}

const start = (options: TestServiceOptions = {}): Promise<TestService> =>
  startService({ kind: "web", errorPage: page, routes, ...options });

const failed = ({ message }: Readonly<Record<string, unknown>>): boolean =>
  message === "errorPage() failed; the problem document was sent";

describe("the error pages of a web service", () => {
  onBothMajors((express) => {
    it("PROF-7 replace the problem document for a browser, and keep its status and headers", async () => {
      await using test = await start({ app: express() });
      const busy = await request(test.url).get("/busy").set("Accept", BROWSER);
      expect([busy.status, busy.text]).to.deep.equal([
        503,
        "<!doctype html><h1>503 Service Unavailable</h1>",
      ]);
      expect(busy.headers).to.include({
        "content-type": HTML,
        "content-length": String(busy.text.length),
        "cache-control": "no-store",
        "retry-after": "7",
        vary: "Accept",
        "x-frame-options": "DENY",
        "referrer-policy": "same-origin",
      });
      expect(busy.headers["content-security-policy"]).to.match(/^default-src 'self'; base-uri 'none'/);
      expect(busy.headers).to.have.property("x-request-id");
      const closed = await request(test.url).get("/closed").set("Accept", BROWSER);
      expect([closed.status, closed.headers["www-authenticate"]]).to.deep.equal([401, "Bearer"]);
    });

    it("PROF-7 replace the 404 of an unknown path and the 405 of a known one", async () => {
      await using test = await start({ app: express() });
      const missing = await request(test.url).get("/missing").set("Accept", BROWSER);
      expect([missing.status, missing.type]).to.deep.equal([404, "text/html"]);
      const wrong = await request(test.url).get("/form").set("Accept", BROWSER);
      expect([wrong.status, wrong.type, wrong.headers["allow"]]).to.deep.equal([405, "text/html", "POST"]);
    });

    it("are rendered from the problem document and the request", async () => {
      const seen: (readonly [ProblemDocument, string])[] = [];
      const errorPage: ErrorPage = (problem, req) => {
        seen.push([problem, req.get("x-request-id") ?? ""]);
        return "";
      };
      await using test = await start({ app: express(), errorPage });
      const id = "request-1";
      await request(test.url).get("/broken?a=1").set({ Accept: BROWSER, "X-Request-ID": id });
      expect(seen).to.have.length(1);
      const [problem, header] = seen[0] ?? expect.fail();
      expect(header).to.equal(id);
      expect(problem).to.deep.include({
        status: 500,
        title: "Internal Server Error",
        instance: "/broken",
        request_id: id,
      });
      expect(JSON.stringify(problem)).not.to.contain("secret");
      expect(await test.line(({ message }) => message === "a request failed")).to.include({ request_id: id });
    });

    it("PROF-7 are sent only if Accept prefers HTML to JSON", async () => {
      await using test = await start({ app: express() });
      const types: Readonly<Record<string, string>> = {
        [BROWSER]: HTML,
        "text/html": HTML,
        "TEXT/HTML": HTML,
        "text/*": HTML,
        "text/html;q=0.9, application/json;q=0.8": HTML,
        "text/html, */*;q=0.1": HTML,
        "*/*": PROBLEM,
        "text/html;q=0": PROBLEM,
        "text/html;q=0, */*": PROBLEM,
        "application/json": PROBLEM,
        "application/problem+json, text/html;q=0.9": PROBLEM,
        "application/json, text/html;q=0.9": PROBLEM,
        "application/json, text/plain, */*": PROBLEM,
        "image/png": PROBLEM,
        "application/xhtml+xml": PROBLEM,
        "text/html;q=x": PROBLEM,
        ";": PROBLEM,
      };
      for (const [accept, type] of Object.entries(types)) {
        const { headers } = await request(test.url).get("/busy").set("Accept", accept);
        expect(headers["content-type"], accept).to.equal(type);
        expect(headers["vary"], accept).to.equal("Accept");
      }
      const { headers } = await rawRequest(
        test.port,
        "GET /busy HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
      );
      expect(headers["content-type"]).to.equal(PROBLEM);
    });

    it("add Accept to the application's Vary, and omit headers that describe another body", async () => {
      await using test = await start({ app: express() });
      for (const accept of [BROWSER, "*/*"]) {
        const { headers } = await request(test.url).get("/varied").set("Accept", accept);
        expect(headers["vary"]).to.equal("Cookie, Accept");
        for (const name of ["etag", "content-disposition"]) expect(headers).not.to.have.property(name);
      }
    });

    it("PROF-7 are sent for HEAD without a body, and without calling errorPage", async () => {
      let calls = 0;
      await using test = await start({ app: express(), errorPage: () => `${(calls += 1)}` });
      const head = `HEAD /busy HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\nConnection: close\r\n\r\n`;
      const { status, headers, body } = await rawRequest(test.port, head);
      expect([status, body, calls]).to.deep.equal([503, "", 0]);
      expect(headers).to.include({ "content-type": HTML, "retry-after": "7", vary: "Accept" });
    });

    it("may be rendered asynchronously", async () => {
      await using test = await start({
        app: express(),
        errorPage: async (problem, req) => (await delay(5), page(problem, req)),
      });
      const { status, text } = await request(test.url).get("/busy").set("Accept", BROWSER);
      expect([status, text]).to.deep.equal([503, "<!doctype html><h1>503 Service Unavailable</h1>"]);
    });

    const failures: Readonly<Record<string, ErrorPage>> = {
      throws: () => {
        throw new Error("no template");
      },
      rejects: async () => Promise.reject(new Error("no template")),
      "throws nothing": () => {
        // oxlint-disable-next-line typescript/only-throw-error -- code of an application may do so
        throw undefined;
      },
      "returns undefined": () => undefined as never,
      "resolves with an object": async () => Promise.resolve({} as never),
    };
    for (const [how, errorPage] of Object.entries(failures)) {
      it(`PROF-7 are replaced by the problem document, and an error is logged, if errorPage ${how}`, async () => {
        await using test = await start({ app: express(), errorPage });
        const { status, headers, body } = await request(test.url)
          .get("/busy")
          .set({ Accept: BROWSER, "X-Request-ID": "r-7" });
        expect(status).to.equal(503);
        expect(headers).to.include({
          "content-type": PROBLEM,
          "retry-after": "7",
          "cache-control": "no-store",
        });
        expect(body).to.include({ status: 503, request_id: "r-7" });
        expect(await test.line(failed)).to.include({ level: "error", request_id: "r-7" });
      });
    }

    it("replace the response of a handler that continues after next(error)", async () => {
      await using test = await start({
        app: express(),
        errorPage: async (problem, req) => (await delay(20), page(problem, req)),
      });
      const { status, text, headers } = await request(test.url).get("/careless").set("Accept", BROWSER);
      expect([status, text]).to.deep.equal([400, "<!doctype html><h1>400 Bad Request</h1>"]);
      expect(headers).to.include({ "content-type": HTML });
      expect(headers).not.to.have.property("x-leak");
    });

    it("do not replace problems that the application sends itself, or responses that have begun", async () => {
      await using test = await start({ app: express() });
      const direct = await request(test.url).get("/direct").set("Accept", BROWSER);
      expect([direct.status, direct.type]).to.deep.equal([400, PROBLEM]);
      const cut = await request(test.url)
        .get("/begun")
        .set("Accept", BROWSER)
        .then(
          () => "sent",
          () => "cut",
        );
      expect(cut).to.equal("cut");
    });

    it("do not change the response of Express to OPTIONS", async () => {
      await using test = await start({ app: express() });
      const { status, text, headers } = await request(test.url).options("/form").set("Accept", BROWSER);
      expect([status, text, headers["allow"]]).to.deep.equal([200, "POST", "POST"]);
    });

    it("LIM-1 arrive complete at a client that is still sending its form", async () => {
      await using test = await start({ app: express(), toml: "max_body_bytes = 1000\n" });
      const head = `POST /form HTTP/1.1\r\nHost: x\r\nOrigin: http://x\r\nAccept: ${BROWSER}\r\nContent-Type: application/x-www-form-urlencoded\r\n`;
      const { status, headers, body } = await rawRequest(
        test.port,
        `${head}Content-Length: 2000000\r\n\r\na=1`,
      );
      expect([status, body]).to.deep.equal([413, "<!doctype html><h1>413 Payload Too Large</h1>"]);
      expect(headers).to.include({ "content-type": HTML, connection: "close" });
      const small = `${head}Content-Length: 2000\r\n\r\n${"a".repeat(2000)}`;
      expect((await rawRequest(test.port, small)).body).to.contain("<h1>413");
    });

    it("LIM-4 are sent, not the 504, if the request timeout ends while errorPage runs", async () => {
      const errorPage: ErrorPage = async (problem, req) => (await delay(300), page(problem, req));
      await using test = await start({ app: express(), errorPage, toml: "request_timeout = 0.1\n" });
      const { status, text } = await request(test.url).get("/busy").set("Accept", BROWSER);
      expect([status, text]).to.deep.equal([503, "<!doctype html><h1>503 Service Unavailable</h1>"]);
    });

    it("are dropped if the client disconnects while errorPage runs", async () => {
      let made: () => void = () => undefined;
      const isMade = new Promise<void>((resolve) => (made = resolve));
      let proceed: () => void = () => undefined;
      const errorPage: ErrorPage = async () => {
        await new Promise<void>((resolve) => ((proceed = resolve), made()));
        return "late";
      };
      await using test = await start({ app: express(), errorPage });
      const client = connect(test.port, "127.0.0.1");
      client.write(`GET /busy HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\n\r\n`);
      await isMade;
      client.destroy();
      await test.line(({ aborted }) => aborted === true);
      proceed();
      expect((await request(test.url).get("/direct")).status).to.equal(400);
      expect(test.lines.filter(({ level }) => level === "fatal")).to.deep.equal([]);
    });
  });

  it("PROF-7 are optional: without errorPage every failure is a problem document", async () => {
    await using test = await start({ errorPage: undefined });
    const { status, type, headers } = await request(test.url).get("/busy").set("Accept", BROWSER);
    expect([status, type]).to.deep.equal([503, PROBLEM]);
    expect(headers).not.to.have.property("vary");
  });

  it("ERR-8 show the reason of an unexpected error only with debug", async () => {
    const errorPage: ErrorPage = ({ detail }) => detail;
    await using test = await start({ errorPage, toml: "debug = true\n" });
    expect((await request(test.url).get("/broken").set("Accept", BROWSER)).text).to.equal("a secret reason");
  });
});

import { once } from "node:events";
import { request as ask, type IncomingMessage } from "node:http";
import { rawRequest } from "@svc/test-support";
import { expect } from "chai";
import type { Express, Response } from "express";
import request from "supertest";
import { onBothMajors } from "./support/majors.ts";
import { startService, type TestServiceOptions } from "./support/test-service.ts";

const data: Readonly<Record<string, string>> = {
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
};
const page = "<!doctype html><title>hello</title>";

onBothMajors((express) => {
  /** Returns the headers of a handler's response by name; the values of repeated headers are joined with " | ". */
  async function headersOf(
    handle: (res: Response) => void,
    options: TestServiceOptions = {},
  ): Promise<Readonly<Record<string, string>>> {
    await using test = await startService({
      app: express(),
      routes: (app) => void app.get("/", (_req, res) => handle(res)),
      ...options,
    });
    const { text } = await rawRequest(test.port, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    const headers: Record<string, string> = {};
    for (const line of text.slice(0, text.indexOf("\r\n\r\n")).split("\r\n").slice(1)) {
      const colon = line.indexOf(":");
      const name = line.slice(0, colon);
      const value = line.slice(colon + 2);
      headers[name] = name in headers ? `${headers[name]} | ${value}` : value;
    }
    return headers;
  }

  describe("security headers of a response (EDGE-6, EDGE-7)", () => {
    it("are reported by every method that reads headers, before and after the headers are sent", async () => {
      const seen: Response[] = [];
      const check = (res: Response): void => {
        for (const [name, value] of Object.entries(data)) {
          expect(res.getHeader(name), name).to.equal(value);
          expect(res.get(name), name).to.equal(value);
          expect(res.hasHeader(name.toUpperCase()), name).to.equal(true);
          expect(res.getHeaders()[name.toLowerCase()], name).to.equal(value);
          expect(res.getHeaderNames(), name).to.include(name.toLowerCase());
          expect((res as unknown as { getRawHeaderNames(): string[] }).getRawHeaderNames()).to.include(name);
        }
      };
      const headers = await headersOf((res) => {
        check(res);
        seen.push(res);
        res.json({});
        check(res);
      });
      expect(seen).to.have.length(1);
      expect(headers).to.include(data);
    });

    it("are omitted when the application removes them, in any letter case, and sent when it sets them again", async () => {
      const headers = await headersOf((res) => {
        res.removeHeader("X-Frame-Options");
        res.removeHeader("referrer-policy");
        res.setHeader("X-Content-Type-Options", "nosniff");
        res.removeHeader("X-Content-Type-Options");
        res.removeHeader("Content-Security-Policy");
        res.setHeader("Content-Security-Policy", "default-src 'self'");
        expect(res.hasHeader("X-Frame-Options")).to.equal(false);
        expect(res.getHeader("X-Frame-Options")).to.equal(undefined);
        expect(res.getHeaderNames()).not.to.include("x-frame-options");
        res.json({});
      });
      expect(headers).to.include({ "Content-Security-Policy": "default-src 'self'" });
      for (const name of ["X-Frame-Options", "Referrer-Policy", "X-Content-Type-Options"])
        expect(headers).not.to.have.property(name);
    });

    it("are omitted from a page when they were removed before its type was set", async () => {
      const headers = await headersOf((res) => {
        res.removeHeader("Cross-Origin-Opener-Policy");
        res.removeHeader("X-Frame-Options");
        res.send(page);
      });
      expect(headers).to.have.property("Origin-Agent-Cluster");
      expect(headers).not.to.have.property("Cross-Origin-Opener-Policy");
      expect(headers).not.to.have.property("X-Frame-Options");
    });

    it("do not replace a header that the application sets on an HTML page, even one that equals the default for JSON", async () => {
      const headers = await headersOf((res) => {
        res.setHeader("X-Frame-Options", "DENY");
        res.send(page);
      });
      expect(headers["X-Frame-Options"]).to.equal("DENY");
      expect(headers["Content-Security-Policy"]).to.contain("default-src 'self'");
    });

    it("are sent together with a value that the application appends", async () => {
      const own = "script-src 'none'";
      for (const append of [
        (res: Response) => res.appendHeader("Content-Security-Policy", own),
        (res: Response) => res.append("Content-Security-Policy", own),
      ]) {
        const headers = await headersOf((res) => {
          append(res);
          res.json({});
        });
        expect(headers["Content-Security-Policy"]).to.equal(`${data["Content-Security-Policy"]} | ${own}`);
      }
    });

    it("do not contain values that were appended to another response", async () => {
      await using test = await startService({
        app: express(),
        routes: (app) => {
          app.get("/append", (_req, res) => res.appendHeader("Referrer-Policy", "same-origin").end());
          app.get("/", (_req, res) => void res.json({}));
        },
      });
      await request(test.url).get("/append");
      expect((await request(test.url).get("/")).headers["referrer-policy"]).to.equal("no-referrer");
    });

    for (const [form, given] of [
      ["an object", { "x-frame-options": "SAMEORIGIN" }],
      ["a flat list", ["x-frame-options", "SAMEORIGIN"]],
    ] as const) {
      it(`are replaced by writeHead() with ${form}`, async () => {
        const headers = await headersOf((res) => void res.writeHead(200, given as never).end("{}"));
        const { "X-Frame-Options": ours, ...others } = data;
        expect(headers).to.include({ ...others, "x-frame-options": "SAMEORIGIN" });
        expect(ours).not.to.equal(headers["X-Frame-Options"]);
      });
    }

    it("are among the headers that flushHeaders() or write() sends", async () => {
      expect(await headersOf((res) => (res.flushHeaders(), void res.end("x")))).to.include(data);
      expect(await headersOf((res) => (res.write("x"), void res.end()))).to.include(data);
    });

    it("are in the final response, but not in early hints before it", async () => {
      await using test = await startService({
        app: express(),
        routes: (app) => {
          app.get("/", (_req, res) => {
            res.writeEarlyHints({ link: "</style.css>; rel=preload" }, () => res.json({}));
          });
        },
      });
      const call = ask(test.url).end();
      const both = await Promise.all([once(call, "information"), once(call, "response")]);
      const [[early], [answer]] = both as [[IncomingMessage], [IncomingMessage]];
      answer.resume();
      expect(early.headers).not.to.have.property("x-frame-options");
      expect(answer.headers).to.include({ "x-frame-options": "DENY" });
    });

    it("are reported and can be removed in an application called by a router", async () => {
      const headers = await headersOf(() => undefined, {
        routes: (app) => {
          const router = express.Router();
          const inner = express();
          inner.get("/", (_req, res) => {
            expect(res.getHeader("X-Frame-Options")).to.equal("DENY");
            res.removeHeader("X-Frame-Options");
            res.removeHeader("cross-origin-opener-policy");
            res.send(page);
          });
          router.use(inner);
          app.use(router);
        },
      });
      expect(headers).to.include({ "Referrer-Policy": "no-referrer", "Origin-Agent-Cluster": "?1" });
      expect(headers).not.to.have.property("X-Frame-Options");
      expect(headers).not.to.have.property("Cross-Origin-Opener-Policy");
    });
  });

  describe("X-Powered-By", () => {
    function nested(depth: number): Express {
      const app = express();
      if (depth === 0) app.get("/", (_req, res) => void res.json({ has: res.hasHeader("X-Powered-By") }));
      else app.use(nested(depth - 1));
      return app;
    }

    const mounts: Readonly<Record<string, (app: Express) => void>> = {
      "a mounted application": (app) => void app.use(nested(0)),
      "an application mounted three levels deep": (app) => void app.use(nested(3)),
      "a mounted application that gets its own mounts later": (app) => {
        const outer = express();
        app.use(outer);
        outer.use(nested(1));
      },
      "an application called by a router": (app) => void app.use(express.Router().use(nested(0))),
      "an application inside an application called by a router": (app) =>
        void app.use(express.Router().use(nested(2))),
      "an application that is called as a function": (app) => {
        const inner = nested(1);
        app.use((req, res, next) => inner(req, res, next));
      },
    };
    for (const [title, mount] of Object.entries(mounts)) {
      for (const toml of ["", "security_headers = false\n", "tune = false\n"]) {
        it(`is not set by ${title}${toml === "" ? "" : ` with ${toml.trim()}`}`, async () => {
          await using test = await startService({ app: express(), routes: mount, toml });
          const { headers, body } = await request(test.url).get("/");
          expect(headers).not.to.have.property("x-powered-by");
          expect(body).to.deep.equal({ has: false });
        });
      }
    }

    it("is not set by an application that is mounted after the start", async () => {
      const late = express();
      await using test = await startService({ app: express(), routes: (app) => void app.use("/late", late) });
      late.use(nested(1));
      const { status, headers } = await request(test.url).get("/late/");
      expect(status).to.equal(200);
      expect(headers).not.to.have.property("x-powered-by");
    });

    it("is not set by a mounted application, even after middleware has overridden res.setHeader", async () => {
      const seen: string[] = [];
      await using test = await startService({
        app: express(),
        routes: (app) => {
          app.use((_req, res, next) => {
            // oxlint-disable-next-line typescript/unbound-method -- called with its response below
            const { setHeader } = res;
            res.setHeader = function watched(this: Response, ...args) {
              seen.push(args[0]);
              return setHeader.apply(this, args);
            };
            next();
          }, nested(1));
        },
      });
      const { headers } = await request(test.url).get("/");
      expect(headers).not.to.have.property("x-powered-by");
      expect(seen).to.include.members(["Content-Type", "Content-Length", "ETag"]);
    });

    it("is set when the application enables it or sets its own value", async () => {
      await using test = await startService({
        app: express(),
        routes: (app) => {
          app.get("/own", (_req, res) => void res.setHeader("X-Powered-By", "care").json({}));
        },
      });
      expect((await request(test.url).get("/own")).headers["x-powered-by"]).to.equal("care");
      test.service.app.enable("x-powered-by");
      expect((await request(test.url).get("/health")).headers["x-powered-by"]).to.equal("Express");
    });
  });
});

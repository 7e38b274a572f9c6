import { contextOf, openContext } from "@svc/context";
import { createLogger } from "@svc/log";
import { pinoHttpOptions } from "@svc/log/pino-http";
import { ConfigurationError } from "@svc/options";
import { requestId } from "@svc/request-id";
import { expressMajors } from "@svc/test-support";
import { expect } from "chai";
import { pinoHttp } from "pino-http";
import supertest from "supertest";
import { lines, memberNames } from "./support/lines.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const base = { service: "shop", env: "local" };

for (const [name, express] of Object.entries(expressMajors)) {
  describe(`pinoHttpOptions() on ${name}`, () => {
    it("LOG-3 LOG-4 COR-4 gives the records of pino-http the fields of accessLog(), each once", async () => {
      const out = lines();
      const logger = createLogger({ ...base, destination: out });
      const app = express();
      app.use((req, _res, next) => {
        const context = openContext(req);
        context.requestId = "r-1";
        context.tenantId = "acme";
        next();
      });
      app.use(pinoHttp(pinoHttpOptions({ logger })));
      app.get("/fails", (req, res) => {
        req.log.warn({ step: 2 }, "about to fail");
        res.status(500).end();
      });
      app.get("/fine", (_req, res) => void res.end());
      await supertest(app).get("/fails?password=canary").set("Authorization", "Bearer canary");
      await supertest(app).get("/fine");
      while (out.text.split("\n").length < 4) await new Promise((resolve) => setTimeout(resolve, 2));
      const [inside, failed, fine] = out.records();
      const fields = { ...base, level: "info", message: "request", request_id: "r-1", tenant_id: "acme" };
      expect(inside).to.include({ step: 2, message: "about to fail" });
      expect(failed).to.include({ ...fields, http_method: "GET", http_path: "/fails", http_status: 500 });
      expect(fine).to.include({ ...fields, http_path: "/fine", http_status: 200 });
      expect(fine?.["duration_ms"]).to.be.a("number").above(0);
      for (const line of out.text.trimEnd().split("\n")) {
        expect(memberNames(line)).to.deep.equal([...new Set(memberNames(line))]);
        expect(line).not.to.match(/"(?:req|res|responseTime|err|reqId)":/);
      }
      expect(out.text).not.to.contain("canary");
    });

    it("COR-4 COR-12 gives all lines of a request its id and its trace, after requestId()", async () => {
      const out = lines();
      const logger = createLogger({ ...base, destination: out });
      const app = express();
      app.use(requestId(), pinoHttp(pinoHttpOptions({ logger })));
      app.get("/", async (req, res) => {
        await Promise.resolve();
        req.log.info("inside");
        logger.info("elsewhere");
        res.end();
      });
      const sent = { "x-request-id": "caller-1", traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
      await supertest(app).get("/").set(sent);
      while (out.text.split("\n").length < 4) await new Promise((resolve) => setTimeout(resolve, 2));
      expect(out.records().map(({ message }) => message)).to.deep.equal(["inside", "elsewhere", "request"]);
      for (const record of out.records()) {
        expect(record).to.include({ request_id: "caller-1", trace_id: traceId });
      }
    });

    it("COR-1 sets req.id to the request id, and sets the context's log to the given logger", async () => {
      const logger = createLogger({ ...base, destination: lines() });
      const app = express();
      app.use(requestId(), pinoHttp(pinoHttpOptions({ logger })));
      app.get("/", (req, res) => {
        const context = contextOf(req);
        res.json({ id: req.id, of: context?.requestId, logs: context?.log === logger });
      });
      const { body } = (await supertest(app).get("/").set("X-Request-ID", "r-1")) as { body: object };
      expect(body).to.deep.equal({ id: "r-1", of: "r-1", logs: true });
    });
  });
}

describe("pinoHttpOptions()", () => {
  it("writes requests for quiet paths at debug level", async () => {
    const out = lines();
    const logger = createLogger({ ...base, destination: out });
    const app = expressMajors["express 5"]();
    app.use(pinoHttp(pinoHttpOptions({ logger, level: "warn", quietPaths: ["/health"] })));
    app.use((_req, res) => void res.end());
    await supertest(app).get("/health");
    await supertest(app).get("/other");
    while (out.text === "") await new Promise((resolve) => setTimeout(resolve, 2));
    expect(out.records().map(({ level, http_path }) => [level, http_path])).to.deep.equal([
      ["warn", "/other"],
    ]);
  });

  it("throws for a logger that is not a pino logger", () => {
    const nothing = (): void => {};
    const logger = { debug: nothing, info: nothing, warn: nothing, error: nothing, fatal: nothing };
    expect(() => pinoHttpOptions({ logger })).to.throw(ConfigurationError, /logger: must be a pino logger/);
  });
});

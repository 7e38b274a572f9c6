import { openContext, runWithContext } from "@svc/context";
import { accessLog, createLogger, currentLogFields, winstonDestination } from "@svc/log";
import { ConfigurationError } from "@svc/options";
import { expressMajors } from "@svc/test-support";
import { expect } from "chai";
import { Writable } from "node:stream";
import { pino } from "pino";
import supertest from "supertest";
import winston from "winston";
import { type Lines, lines } from "./support/lines.ts";

const base = { service: "shop", env: "local" };
const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const ids = { request_id: "r-1", trace_id: traceId, tenant_id: "acme" };

function winstonOn(out: Lines, options: winston.LoggerOptions = {}): winston.Logger {
  const withIds = winston.format((record) => ({ ...currentLogFields(record), ...record }));
  const stream = new Writable({
    write(chunk, _encoding, done) {
      out.write(String(chunk));
      done();
    },
  });
  return winston.createLogger({
    level: "silly",
    format: winston.format.combine(withIds(), winston.format.json()),
    transports: [new winston.transports.Stream({ stream, eol: "\n" })],
    ...options,
  });
}

const written = async (out: Lines, count: number): Promise<Record<string, unknown>[]> => {
  while (out.text.split("\n").length <= count) await new Promise((resolve) => setTimeout(resolve, 2));
  return out.records();
};

for (const [name, express] of Object.entries(expressMajors)) {
  describe(`a logger of the application on ${name}`, () => {
    for (const [library, loggersOn] of [
      [
        "winston",
        (out: Lines) => {
          const own = winstonOn(out);
          const logger = createLogger({ ...base, destination: winstonDestination(own) });
          return { say: (text: string) => void own.info(text), logger };
        },
      ],
      [
        "pino",
        (out: Lines) => {
          const own = pino({ mixin: currentLogFields, messageKey: "message" }, out);
          return { say: (text: string) => own.info(text), logger: own };
        },
      ],
    ] as const) {
      it(`COR-4 LOG-3 writes its own lines and the access line with the request's ids: ${library}`, async () => {
        const out = lines();
        const { say, logger } = loggersOn(out);
        const app = express();
        app.use((req, _res, next) => {
          const context = openContext(req);
          context.requestId = "r-1";
          context.tenantId = "acme";
          context.trace = { traceId, traceparent: "", tracestate: undefined };
          next();
        });
        app.use(accessLog({ logger }));
        app.get("/fine", (_req, res) => {
          say("inside");
          res.end();
        });
        await supertest(app).get("/fine");
        const [inside, request] = await written(out, 2);
        expect(inside).to.include({ ...ids, message: "inside" });
        expect(request).to.include({ ...ids, message: "request", http_path: "/fine", http_status: 200 });
        say("outside");
        const outside = (await written(out, 3))[2];
        expect(outside)
          .to.include({ message: "outside" })
          .and.not.have.any.keys(...Object.keys(ids));
      });
    }
  });
}

describe("currentLogFields()", () => {
  it("returns no fields for a record that already has a request id", () => {
    const context = openContext({ headers: {} } as never);
    context.requestId = "r-2";
    runWithContext(context, () => {
      expect(currentLogFields()).to.deep.equal({ request_id: "r-2" });
      expect(currentLogFields({ a: 1 })).to.deep.equal({ request_id: "r-2" });
      expect(currentLogFields({ request_id: "r-1" })).to.deep.equal({});
    });
  });
});

describe("winstonDestination()", () => {
  it("LOG-1 LOG-2 passes on the members of each line with winston's level, and without secrets", async () => {
    const out = lines();
    const logger = createLogger({ ...base, level: "TRACE", destination: winstonDestination(winstonOn(out)) });
    for (const level of ["trace", "debug", "info", "warn", "error", "fatal"] as const) {
      logger[level]({ password: "canary", step: level, err: new TypeError("no") }, "text");
    }
    const records = await written(out, 6);
    expect(records.map(({ level }) => level)).to.deep.equal("silly debug info warn error error".split(" "));
    for (const record of records) {
      expect(record).to.include({ ...base, message: "text", password: "[redacted]" });
      expect(record["err"]).to.include({ type: "TypeError", message: "no" });
      expect(record["time"]).to.match(/Z$/);
    }
    expect(out.text).not.to.contain("canary");
  });

  it("uses the names of winston's syslog levels", async () => {
    const out = lines();
    const own = winstonOn(out, { levels: winston.config.syslog.levels, level: "debug" });
    const logger = createLogger({ ...base, destination: winstonDestination(own) });
    logger.warn("one");
    logger.fatal("two");
    expect((await written(out, 2)).map(({ level }) => level)).to.deep.equal(["warning", "crit"]);
  });

  it("LOG-6 passes on a text line as the message, with its level", async () => {
    const out = lines();
    const destination = winstonDestination(winstonOn(out));
    const logger = createLogger({ ...base, json: false, level: "trace", destination });
    for (const level of ["trace", "debug", "info", "warn", "error", "fatal"] as const) {
      logger[level]({ order: 7 }, "ERROR in stock");
    }
    const records = await written(out, 6);
    expect(records.map(({ level }) => level)).to.deep.equal("silly debug info warn error error".split(" "));
    expect(records[3]?.["message"]).to.match(/WARN +ERROR in stock .*order=7$/);
    destination.write("a line of another origin\n");
    expect((await written(out, 7))[6]).to.include({ level: "info", message: "a line of another origin" });
  });

  it("throws for anything other than a winston logger, and for one without the usual levels", () => {
    const nothing = (): void => undefined;
    for (const [logger, message] of [
      [undefined, "logger: must be a winston logger (an object with log() and levels)"],
      [{ log: nothing }, "must be a winston logger"],
      [{ log: nothing, levels: null }, "must be a winston logger"],
      [pino(), "must be a winston logger"],
      [
        { log: nothing, levels: { error: 0, warn: 1, info: 2 } },
        "logger: has no level trace or silly or debug",
      ],
    ] as const) {
      expect(() => winstonDestination(logger as never)).to.throw(ConfigurationError, message);
    }
  });
});

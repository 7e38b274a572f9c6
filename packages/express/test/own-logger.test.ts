import { Writable } from "node:stream";
import { createLogger } from "@svc/log";
import { expect } from "chai";
import type { Express } from "express";
import { pino } from "pino";
import request from "supertest";
import winston from "winston";
import { createService, type OwnLogger, type Service, type ServiceOptions } from "@svc/express";
import { onBothMajors } from "./support/majors.ts";
import { refusalOf } from "./support/refusal-of.ts";

type Line = Readonly<Record<string, unknown>>;

const toml = '[service]\nname = "orders"\nport = 0\n';

function routes(app: Express, { log }: Service): void {
  app.get("/orders/:id", (req, res) => {
    log.warn({ order: req.params.id }, "the order is late");
    res.json({});
  });
  app.get("/broken", () => {
    throw new Error("no such table");
  });
}

/** Sends two requests to a service with the logger, and returns the service. */
async function use(logger: OwnLogger, options: ServiceOptions = {}): Promise<Service> {
  const config = { toml };
  const service = await createService({ config, env: {}, signals: false, routes, logger, ...options });
  await request(service.app).get("/orders/7").set("X-Request-ID", "r-1");
  await request(service.app).get("/broken").set("X-Request-ID", "r-2");
  return service;
}

/** Returns a pino logger and its lines. */
function pinoWith(options: object = {}): { logger: ReturnType<typeof pino>; lines: Line[] } {
  const lines: Line[] = [];
  const write = (text: string): void => void lines.push(JSON.parse(text) as Line);
  return { logger: pino({ base: { team: "a" }, ...options }, { write }), lines };
}

const access = {
  http_method: "GET",
  http_path: "/orders/7",
  http_status: 200,
  request_id: "r-1",
};

describe("createService({ logger })", function () {
  this.timeout(30_000);

  onBothMajors((express) => {
    it("LOG-2 writes every line through a pino logger, with the fields of the request", async () => {
      const { logger, lines } = pinoWith();
      await using service = await use(logger, { app: express() as Express });
      expect(service.log.bindings()).to.include({ team: "a" });
      const late = lines.find(({ msg }) => msg === "the order is late");
      expect(late).to.include({ level: 40, team: "a", order: "7", request_id: "r-1" });
      expect(lines.find(({ msg }) => msg === "request")).to.include({ team: "a", ...access });
      const error = lines.find(({ level }) => level === 50);
      expect(error).to.include({ request_id: "r-2" });
      expect(error?.["err"]).to.include({ message: "no such table" });
    });
  });

  it("keeps the formatter of a pino logger, and writes each field once", async () => {
    const lines: string[] = [];
    const formatters = { log: (fields: object) => ({ ...fields, shard: 3 }) };
    const logger = pino({ formatters }, { write: (text) => void lines.push(text) });
    await using _ = await use(logger);
    expect(lines).to.have.length.above(2);
    for (const line of lines) {
      expect(JSON.parse(line)).to.include({ shard: 3 });
      expect(line.split('"request_id"').length, line).to.be.below(3);
    }
  });

  it("writes each field once if a child of a pino logger has bound it", async () => {
    const lines: string[] = [];
    const logger = pino({}, { write: (text) => void lines.push(text) });
    const children = (app: Express, { log }: Service): void => {
      app.get("/orders/:id", (_req, res) => {
        const child = log.child({ request_id: "mine" });
        child.info("bound");
        child.setBindings({ tenant_id: "t" });
        child.child({ part: 1 }).info({ order: "7" }, "bound twice");
        log.child({ part: 2 }).info("of the request");
        res.json({});
      });
    };
    await using _ = await use(logger, { routes: children });
    const of = (message: string): string => lines.find((line) => line.includes(`"${message}"`)) ?? "";
    for (const line of [of("bound"), of("bound twice")]) {
      expect(line.split('"request_id"')).to.have.length(2);
      expect(JSON.parse(line)).to.include({ request_id: "mine" });
    }
    expect(JSON.parse(of("bound twice"))).to.include({ part: 1, order: "7", tenant_id: "t" });
    expect(JSON.parse(of("of the request"))).to.include({ part: 2, request_id: "r-1" });
  });

  it("uses the level of a pino logger, not that of the file", async () => {
    const { logger, lines } = pinoWith({ level: "error" });
    await using _ = await use(logger, { config: { toml: `${toml}[logging]\nlevel = "DEBUG"` } });
    expect(lines.map(({ level }) => level)).to.deep.equal([50]);
  });

  it("accepts a logger from createLogger(), and writes the same lines as without the option", async () => {
    const lines: Line[] = [];
    const destination = { write: (text: string): void => void lines.push(JSON.parse(text) as Line) };
    await using _ = await use(createLogger({ service: "orders", env: "local", destination }));
    expect(lines.find(({ message }) => message === "request")).to.include({ service: "orders", ...access });
    expect(lines.find(({ message }) => message === "the order is late")).to.include({ request_id: "r-1" });
  });

  it("passes fields and message to a logger such as console, which has no fatal()", async () => {
    const calls: [level: string, fields: Line, message: unknown][] = [];
    const method =
      (level: string) =>
      (fields: object, message?: string): void =>
        void calls.push([level, fields as Line, message]);
    const logger = {
      debug: method("debug"),
      info: method("info"),
      warn: method("warn"),
      error: method("error"),
    };
    await using service = await use(logger, { config: { toml: `${toml}[logging]\nlevel = "WARN"` } });
    service.log.fatal({ token: "hunter2" }, "stop");
    service.log.info({}, "below the level of the file");
    expect(calls.map(([level, , message]) => [level, message])).to.deep.equal([
      ["warn", "the order is late"],
      ["error", "a request failed"],
      ["error", "stop"],
    ]);
    const [[, late] = expect.fail("no line"), [, broken] = expect.fail("no line"), [, stop] = []] = calls;
    expect(late).to.deep.equal({ service: "orders", env: "local", request_id: "r-1", order: "7" });
    expect(broken["err"]).to.include({ message: "no such table" });
    expect(stop?.["token"]).to.not.equal("hunter2");
  });

  it("writes through winston", async () => {
    const lines: Line[] = [];
    const stream = new Writable({
      write(text: Buffer, _encoding, done) {
        lines.push(JSON.parse(String(text)) as Line);
        done();
      },
    });
    const transports = [new winston.transports.Stream({ stream })];
    const logger = winston.createLogger({ format: winston.format.json(), transports });
    await using service = await use(logger);
    service.log.info({ without: "a message" });
    expect(lines.at(-1)).to.include({ level: "info", without: "a message", message: "" });
    service.log.fatal({}, "stop");
    expect(lines.find(({ message }) => message === "the order is late")).to.include({
      level: "warn",
      order: "7",
      request_id: "r-1",
    });
    expect(lines.find(({ message }) => message === "request")).to.include({ level: "info", ...access });
    expect(lines.at(-1)).to.include({ level: "error", message: "stop" });
  });

  it("accepts console", async () => {
    await using service = await use(console, { config: { toml: `${toml}[logging]\nlevel = "SILENT"` } });
    expect(service.log.level).to.equal("silent");
  });

  it("serves requests while its logger throws or rejects", async () => {
    const fail = (): never => {
      throw new Error("the disk is full");
    };
    const reject = async (): Promise<void> => fail();
    for (const method of [fail, reject]) {
      const logger = { debug: method, info: method, warn: method, error: method };
      await using service = await use(logger);
      expect((await request(service.app).get("/orders/7")).status).to.equal(200);
    }
  });

  const broken = {
    destination: (isBroken: () => boolean) => pino({}, { write: () => failIf(isBroken) }),
    formatter: (isBroken: () => boolean) =>
      pino({ formatters: { log: (fields) => (failIf(isBroken), fields) } }, { write: () => undefined }),
    hook: (isBroken: () => boolean) =>
      pino(
        {
          hooks: {
            logMethod(args, method) {
              failIf(isBroken);
              method.apply(this, args);
            },
          },
        },
        { write: () => undefined },
      ),
  };

  function failIf(isBroken: () => boolean): void {
    if (isBroken()) throw new Error("the disk is full");
  }

  for (const [part, make] of Object.entries(broken)) {
    it(`serves requests and stops with 0 while the ${part} of a pino logger throws`, async () => {
      let isBroken = false;
      const ran: string[] = [];
      const options: ServiceOptions = {
        config: { toml },
        env: {},
        signals: false,
        logger: make(() => isBroken),
        routes(app, service) {
          routes(app, service);
          service.onStop("close", () => void ran.push("close"));
        },
      };
      await using service = await createService(options);
      await service.start();
      isBroken = true;
      const { warn } = service.log;
      warn({ a: 1 }, "detached");
      service.log.child({ part: 1 }, { level: "debug" }).fatal({}, "of a child");
      expect((await request(service.server).get("/orders/7")).status).to.equal(200);
      expect((await request(service.server).get("/broken")).status).to.equal(500);
      expect(await service.stop()).to.equal(0);
      expect(ran).to.deep.equal(["close"]);
    });
  }

  it("rejects a logger without warn(), and a logger together with logDestination", async () => {
    const { debug, info, error } = console;
    const broken = { logger: { debug, info, error } as unknown as OwnLogger };
    expect(await refusalOf(broken)).to.contain(
      "logger: must be a logger (an object with debug(), info(), warn(), error())",
    );
    const both = { logger: console, logDestination: { write: () => undefined } };
    expect(await refusalOf(both)).to.contain(
      "logDestination: cannot be combined with logger, which has a destination of its own",
    );
  });
});

import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { jwtAuth, principalOf } from "@svc/jwt-auth";
import { requestId } from "@svc/request-id";
import { signToken } from "@svc/test-support";
import { expect } from "chai";
import express5 from "express";
import type { Express, RequestHandler, Response, Router } from "express";
import { expressjwt, type Request as JwtRequest } from "express-jwt";
import { pino } from "pino";
// The types of pino-http also declare `id` and `log` of every request.
import { pinoHttp } from "pino-http";
import request from "supertest";
import { bridgeRequests } from "@svc/express/bridge";
import { onBothMajors } from "./support/majors.ts";
import { startService } from "./support/test-service.ts";

const secret = randomBytes(32).toString("base64");
const token = signToken({ sub: "u-1", scope: "a b", aud: "orders", team: { name: "x" } }, secret);
const enabled = `[plugins]
enabled = ["observability", "auth"]
[plugin.auth]
mode = "secret"
algorithms = ["HS256"]
audience = "orders"
`;
const env = { SVC_AUTH_SECRET: secret };

/** A handler of an application that uses express-jwt and pino-http. */
const legacy: RequestHandler = (req, res) => {
  req.log.info("one");
  req.log.warn({ order: 7 }, "two %s", "words");
  res.json({ id: req.id, requestId: req.requestId, sub: req.auth?.sub, auth: req.auth });
};

interface Answer {
  readonly id: string;
  readonly requestId: string;
  readonly sub?: string;
  readonly auth?: object;
}

const get = async (app: unknown, path = "/legacy"): Promise<Answer> => {
  const asked = request(app as Express)
    .get(path)
    .set("Authorization", `Bearer ${token}`);
  return (await asked.set("X-Request-ID", "r-1")).body as Answer;
};

describe("bridgeRequests()", function () {
  this.timeout(30_000);

  onBothMajors((express) => {
    it("sets the req members of express-jwt and pino-http for a legacy handler in createService()", async () => {
      const lines: object[] = [];
      const logger = pino({}, { write: (text) => void lines.push(JSON.parse(text) as object) });
      const old = express() as Express;
      old.use(pinoHttp({ logger, genReqId: () => "r-1" }));
      old.use(expressjwt({ secret: Buffer.from(secret), algorithms: ["HS256"] }));
      old.get("/legacy", legacy);
      const before = await get(old);
      expect(before).to.include({ id: "r-1", sub: "u-1" });
      expect(before.auth).to.include({ aud: "orders" });

      await using test = await startService({
        toml: enabled,
        env,
        app: express() as Express,
        routes(app, { log }) {
          bridgeRequests(app, { logger: log });
          app.get("/legacy", legacy);
        },
      });
      expect(await get(test.service.app)).to.deep.equal({ ...before, requestId: "r-1" });
      expect(test.lines.find(({ message }) => message === "one")).to.include({
        level: "info",
        request_id: "r-1",
      });
      expect(test.lines.find(({ message }) => message === "two words")).to.include({
        level: "warn",
        order: 7,
        request_id: "r-1",
      });
    });

    it("sets req.user to the principal, and leaves req.user and req.auth undefined without a token", async () => {
      await using test = await startService({
        toml: enabled,
        env,
        app: express() as Express,
        routes(app, { log }) {
          bridgeRequests(app, { logger: log });
          app.get("/me", ({ user, auth }, res) => {
            res.json({ subject: user?.subject, scopes: user?.scopes, claims: auth === user?.claims });
          });
        },
      });
      expect(await get(test.service.app, "/me")).to.deep.equal({
        subject: "u-1",
        scopes: ["a", "b"],
        claims: true,
      });
      expect((await request(test.service.app).get("/me")).body).to.deep.equal({ claims: true });
    });

    it("sets the req members in routers and mounted applications; without requestId(), req.id is empty", async () => {
      const lines: object[] = [];
      const logger = pino({}, { write: (text) => void lines.push(JSON.parse(text) as object) });
      const app = express() as Express;
      const mounted = express() as Express;
      const router = (express as unknown as { Router(): Router }).Router();
      router.get("/legacy", legacy);
      mounted.get("/legacy", legacy);
      bridgeRequests(app, { logger });
      app.use(requestId());
      app.use("/router", router);
      app.use("/mounted", mounted);
      for (const path of ["/router/legacy", "/mounted/legacy"])
        expect(await get(app, path), path).to.deep.equal({ id: "r-1", requestId: "r-1" });
      expect(lines).to.have.length(4);
      const none = express() as Express;
      bridgeRequests(none, { logger });
      none.get("/legacy", legacy);
      expect(await get(none)).to.deep.equal({ id: "", requestId: "" });
    });

    it("takes the caller from jwtAuth() without createService(), and lets middleware set req.user to the claims", async () => {
      const logger = pino({ level: "silent" });
      const app = express() as Express;
      bridgeRequests(app, { logger });
      app.use(requestId(), jwtAuth({ secret, audience: "orders" }));
      app.get("/legacy", legacy);
      app.get("/user", (req, res) => void res.json({ sub: req.user?.subject }));
      app.use((req: { user?: unknown; auth?: unknown }, _res: unknown, next: () => void) => {
        req.user = req.auth;
        next();
      });
      app.get("/claims", (req, res) => void res.json(req.user));
      expect(await get(app)).to.include({ id: "r-1", sub: "u-1" });
      expect(await get(app, "/user")).to.deep.equal({ sub: "u-1" });
      expect(await get(app, "/claims")).to.include({ sub: "u-1", aud: "orders" });

      const shimmed = express() as Express;
      shimmed.use(jwtAuth({ secret, audience: "orders" }));
      shimmed.use((req: IncomingMessage & { auth?: unknown }, _res: unknown, next: () => void) => {
        req.auth = principalOf(req)?.claims;
        next();
      });
      shimmed.get("/legacy", (req, res) => void res.json({ sub: req.auth?.sub }));
      expect(await get(shimmed)).to.deep.equal({ sub: "u-1" });
      expect((await request(shimmed).get("/legacy")).body).to.deep.equal({});
    });

    it("lets a handler replace req.id and req.user, for its own request only", async () => {
      const app = express() as Express;
      bridgeRequests(app, { logger: pino({ level: "silent" }) });
      app.get(
        "/set",
        (req, _res, next) => {
          Object.assign(req, { id: "mine", user: { subject: "other" } });
          next();
        },
        (req, res) => void res.json({ id: req.id, user: req.user, keys: Object.keys(req).includes("user") }),
      );
      app.get("/after", (req, res) => void res.json({ id: req.id, user: req.user }));
      expect(await get(app, "/set")).to.deep.equal({ id: "mine", user: { subject: "other" }, keys: true });
      expect(await get(app, "/after")).to.deep.equal({ id: "" });
    });
  });

  it("accepts handlers typed with the Request type of express-jwt", async () => {
    const typed = (req: JwtRequest, res: Response): void => void res.json({ sub: req.auth?.sub });
    await using test = await startService({
      toml: enabled,
      env,
      routes(app, { log }) {
        bridgeRequests(app, { logger: log });
        app.get("/typed", typed);
      },
    });
    expect(await get(test.service.app, "/typed")).to.deep.equal({ sub: "u-1" });
  });

  it("is off by default", async () => {
    await using test = await startService({
      toml: enabled,
      env,
      routes(app) {
        app.get("/off", (req, res) => {
          res.json(["id", "requestId", "log", "user", "auth"].filter((name) => name in req));
        });
      },
    });
    expect(await get(test.service.app, "/off")).to.deep.equal([]);
  });

  it("accepts console, and any other logger without fatal()", async () => {
    const app = express5();
    bridgeRequests(app, { logger: console });
    app.get("/log", (req, res) => void res.json(req.log === (console as unknown)));
    expect(await get(app, "/log")).to.equal(true);
  });

  it("keeps its own logger in req.log if pino-http also sets req.log", async () => {
    const lines: object[] = [];
    const logger = pino({}, { write: (text) => void lines.push(JSON.parse(text) as object) });
    const app = express5();
    bridgeRequests(app, { logger });
    app.use(requestId(), pinoHttp({ logger, customProps: () => ({ shop: "7" }) }));
    app.get("/log", (req, res) => (req.log.info("in a handler"), void res.json({})));
    await get(app, "/log");
    const line = lines.find((each) => "msg" in each && each.msg === "in a handler");
    expect(line).to.not.have.any.keys("req", "shop");
  });

  it("rejects a value that is not an application, and a missing logger", () => {
    const logger = pino({ level: "silent" });
    expect(() => bridgeRequests({}, { logger })).to.throw(
      "app: must be an Express application, as returned by express()",
    );
    expect(() => bridgeRequests({}, {} as { logger: typeof logger })).to.throw("logger: is required");
  });
});

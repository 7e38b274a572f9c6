import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import {
  type CheckResult,
  enterContext,
  type Logger,
  type Middleware,
  type Principal,
  type ReadinessCheck,
  RequestContext,
} from "@svc/context";
import { expressMajors } from "@svc/test-support";
import { expect } from "chai";
import connect from "connect";
import express4, { type RequestHandler } from "express4";

// The compiler is the test: it must accept this code, and reject each line below a @ts-expect-error.
describe("types", () => {
  it("accept one middleware in Connect, Express 4, Express 5 and a bare server", () => {
    const middleware: Middleware = enterContext;
    const four: RequestHandler = middleware;
    const bare = (req: IncomingMessage, res: ServerResponse): void => middleware(req, res, () => res.end());
    const apps = [
      connect().use(middleware),
      express4().use(four),
      expressMajors["express 5"]().use(middleware),
      createServer(bare),
    ];
    expect(apps).to.have.length(4);
  });

  it("keep Express's route parameter types", () => {
    const app = expressMajors["express 5"]();
    app.get("/items/:id", enterContext, (req, res) => {
      const id: string = req.params.id;
      // @ts-expect-error -- the route has no such parameter
      res.end(id + String(req.params.other));
    });
    expect(app.router.stack).to.have.length(1);
  });

  it("accept any object with the five levels as a logger, and reject a function", () => {
    const say = (fields: object, message?: string): void => void [fields, message];
    const loggers: Logger[] = [{ debug: say, info: say, warn: say, error: say, fatal: say }];
    // @ts-expect-error -- a function has no levels
    loggers.push(say);
    expect(loggers).to.have.length(2);
  });

  it("accept synchronous and asynchronous checks", async () => {
    const healthy: CheckResult = { healthy: true, detail: "fine", critical: undefined };
    const checks: ReadinessCheck[] = [
      { name: "now", critical: true, check: () => healthy },
      {
        name: "later",
        critical: false,
        check: async (signal) => (signal.aborted ? { ...healthy } : healthy),
      },
    ];
    const results = await Promise.all(checks.map(async (each) => each.check(AbortSignal.timeout(1000))));
    expect(results).to.eql([healthy, healthy]);
  });

  it("reject changes to a principal", () => {
    const principal: Principal = {
      subject: "s",
      scopes: [],
      roles: [],
      tenant: undefined,
      tokenId: undefined,
      family: undefined,
      issuer: undefined,
      expiresAt: undefined,
      claims: {},
    };
    const context = new RequestContext({ principal });
    const change = (): void => {
      // @ts-expect-error -- readonly
      principal.subject = "other";
    };
    expect(change).to.be.a("function");
    expect(context.principal).to.equal(principal);
  });
});

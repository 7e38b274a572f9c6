import { createHmac, timingSafeEqual } from "node:crypto";
import { type Logger, type Middleware, openContext } from "@svc/context";
import { jsonBody, type VerifyBody } from "@svc/json-body";
import { serviceUnavailable } from "@svc/problem";
import type { Listening } from "@svc/test-support";
import { expect } from "chai";
import { verifyFaultLog } from "../src/verify-fault.ts";
import { post, serveAll, stacks } from "./support/stacks.ts";

interface Line {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string | undefined;
}

/** Returns a logger whose levels other than `error` throw, and its lines. */
function recorder(): { readonly logger: Logger; readonly lines: Line[] } {
  const lines: Line[] = [];
  const unexpected = (): never => {
    throw new Error("an unexpected level");
  };
  const error = (fields: object, message?: string): void =>
    void lines.push({ fields: { ...fields }, message });
  const logger = { debug: unexpected, info: unexpected, warn: unexpected, error, fatal: unexpected };
  return { logger, lines };
}

/** Sets the logger and the id of the request's context, as `accessLog()` and `requestId()` do. */
const logTo =
  (logger: Logger): Middleware =>
  (req, _res, next) => {
    const context = openContext(req);
    context.log = logger;
    context.requestId = "r-1";
    next();
  };

const failing =
  (error: unknown): VerifyBody =>
  () => {
    throw error;
  };

for (const stack of stacks) {
  describe(`an error of jsonBody({ verify }) on ${stack}`, () => {
    const served = async (logger: Logger, verify: VerifyBody): Promise<Listening> =>
      serveAll(stack, [logTo(logger), jsonBody({ verify })]);

    it("is logged with its name, its code and its stack frames, without the message", async () => {
      const { logger, lines } = recorder();
      const given = "sha256=5ecr3t";
      await using server = await served(logger, (_req, _res, bytes) => {
        const signature = createHmac("sha256", "key").update(bytes).digest();
        return timingSafeEqual(signature, given as never);
      });
      expect((await post(server.url, '{"name":"hunter2"}')).status).to.equal(403);
      expect(lines).to.have.length(1);
      const { fields, message } = lines[0] as Line;
      expect(message).to.equal("the function `verify` of jsonBody() threw an error; the request was refused");
      const { stack: frames, ...others } = fields;
      expect(others).to.deep.equal({
        request_id: "r-1",
        error: "TypeError",
        code: "ERR_INVALID_ARG_TYPE",
        suppressed: 0,
      });
      expect(frames).to.match(/^at .*verify-fault\.test\.ts:\d+/s);
      expect(JSON.stringify(lines)).not.to.match(/5ecr3t|hunter2/);
    });

    it("is logged once for many requests in a row", async () => {
      const { logger, lines } = recorder();
      await using server = await served(logger, () => Promise.reject(new RangeError("no")));
      for (let i = 0; i < 3; i++) expect((await post(server.url, "{}")).status).to.equal(403);
      expect(lines.map(({ fields }) => fields["error"])).to.deep.equal(["RangeError"]);
    });

    it("is not logged if it has its own status, and a refusal is not logged either", async () => {
      const { logger, lines } = recorder();
      await using gone = await served(logger, failing(serviceUnavailable("the keys are not available")));
      await using refusing = await served(logger, () => false);
      expect([(await post(gone.url, "{}")).status, (await post(refusing.url, "{}")).status]).to.deep.equal([
        503, 403,
      ]);
      // The line of problemHandler() for the 503.
      expect(lines.map(({ message }) => message)).to.deep.equal(["a request failed"]);
    });

    it("does not change the response if it is a hostile value or the logger throws", async () => {
      const hostile = Object.defineProperty(new Error("x"), "code", {
        get() {
          throw new Error("a getter");
        },
      });
      for (const error of [undefined, null, "text", hostile, Object.assign(new Error("x"), { stack: 7 })]) {
        const { logger, lines } = recorder();
        await using server = await served(logger, failing(error));
        expect((await post(server.url, "{}")).status).to.equal(403);
        expect(lines).to.have.length(1);
        expect(lines[0]?.fields).to.include({ suppressed: 0 }).and.not.to.have.property("stack");
      }
      const { logger } = recorder();
      const broken = { ...logger, error: () => Promise.reject(new Error("the logger is broken")) };
      await using server = await served(broken as never, failing(new Error("x")));
      expect((await post(server.url, "{}")).status).to.equal(403);
    });

    it("keeps the response if the context has no logger", async () => {
      await using server = await serveAll(stack, [jsonBody({ verify: failing(new Error("x")) })]);
      expect((await post(server.url, "{}")).status).to.equal(403);
    });
  });
}

describe("the log of errors of verify", () => {
  const request = (logger?: Logger): never => {
    const req = {};
    if (logger !== undefined) openContext(req as never).log = logger;
    return req as never;
  };

  it("has a line at most every ten seconds, with the number of suppressed lines", () => {
    const { logger, lines } = recorder();
    let now = 0;
    const report = verifyFaultLog({ now: () => now });
    for (const at of [0, 1, 9_999, 10_000, 10_001, 20_000]) {
      now = at;
      report(request(logger), new Error("x"));
    }
    expect(lines.map(({ fields }) => fields["suppressed"])).to.deep.equal([0, 2, 1]);
  });

  it("does not count a request without a logger", () => {
    const { logger, lines } = recorder();
    const report = verifyFaultLog({ now: () => 0 });
    report(request(), new Error("x"));
    report(request(logger), new Error("x"));
    expect(lines.map(({ fields }) => fields["suppressed"])).to.deep.equal([0]);
  });

  it("has the frames but no part of the message, even if the message looks like frames", () => {
    for (const [message, changed] of [
      ["", undefined],
      ["a\n    at secret (5ecr3t:1:1)\nb", undefined],
      ["Error", undefined],
      ["5ecr3t\n    at secret", "other"],
      ["5ecr3t\nmore 5ecr3t", ""],
    ] as const) {
      const { logger, lines } = recorder();
      const error = new Error(message);
      // The first access fixes the message in the stack.
      expect(error.stack).to.contain(message);
      if (changed !== undefined) error.message = changed;
      verifyFaultLog({ now: () => 0 })(request(logger), error);
      expect(JSON.stringify(lines)).not.to.contain("5ecr3t");
      expect("stack" in (lines[0] as Line).fields, message).to.equal(changed === undefined);
    }
  });

  it("omits a name and a code that may be arbitrary text", () => {
    const { logger, lines } = recorder();
    const error = Object.assign(new Error("x"), { name: "redis://:5ecr3t@db", code: "a 5ecr3t" });
    verifyFaultLog({ now: () => 0 })(request(logger), error);
    const { stack: _frames, ...fields } = (lines[0] as Line).fields;
    expect(fields).to.deep.equal({ suppressed: 0 });
  });
});

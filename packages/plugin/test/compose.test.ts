import type { IncomingMessage, ServerResponse } from "node:http";
import type { Middleware } from "@svc/context";
import { compose } from "@svc/plugin";
import { expect } from "chai";

const passes: Middleware = (_req, _res, next) => next();

/** Returns the errors with which the combined layers call next(), in order, after all promises have settled. */
async function errorsOf(...layers: readonly Middleware[]): Promise<readonly unknown[]> {
  const errors: unknown[] = [];
  compose(layers)({} as IncomingMessage, {} as ServerResponse, (err) => errors.push(err));
  await new Promise((resolve) => setImmediate(resolve));
  return errors;
}

describe("compose", () => {
  it("calls the layers in order, then next()", async () => {
    const called: string[] = [];
    const layer =
      (name: string): Middleware =>
      (_req, _res, next) => {
        called.push(name);
        next();
      };
    expect(await errorsOf(layer("a"), layer("b"))).to.deep.equal([undefined]);
    expect(called).to.deep.equal(["a", "b"]);
  });

  it("runs the next layers if a layer passes null, as Express does", async () => {
    const reached: string[] = [];
    const withNull: Middleware = (_req, _res, next) => next(null);
    const guard: Middleware = (_req, _res, next) => {
      reached.push("guard");
      next(new Error("refused"));
    };
    expect(await errorsOf(withNull, guard, passes)).to.have.length(1);
    expect(reached).to.deep.equal(["guard"]);
  });

  it("passes what a layer throws or rejects with to next(), even in a later turn of the event loop", async () => {
    const error = new Error("lookup failed");
    const throws: Middleware = () => {
      throw error;
    };
    const rejects = (async () => {
      await Promise.resolve();
      throw error;
    }) as Middleware;
    const later: Middleware = (_req, _res, next) => void setImmediate(next);
    for (const layer of [throws, rejects]) expect(await errorsOf(passes, layer)).to.deep.equal([error]);
    const errors: unknown[] = [];
    await new Promise<void>((resolve) => {
      compose([later, throws])({} as IncomingMessage, {} as ServerResponse, (err) => {
        errors.push(err);
        resolve();
      });
    });
    expect(errors).to.deep.equal([error]);
  });

  it("passes an error even if a layer throws or rejects with a falsy value", async () => {
    const rejects = (() => Promise.reject(undefined)) as Middleware;
    const throws: Middleware = () => {
      // oxlint-disable-next-line no-throw-literal -- JavaScript code may do this
      throw null;
    };
    for (const layer of [throws, rejects]) {
      const [error, ...others] = await errorsOf(layer, passes);
      expect(error).to.be.an("error");
      expect(others).to.deep.equal([]);
    }
  });
});

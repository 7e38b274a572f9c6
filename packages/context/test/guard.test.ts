import { describeGuard, guardOf, type Middleware } from "@svc/context";
import { expect } from "chai";

describe("the description of a guard", () => {
  it('is readable under Symbol.for("@svc/guard") and does not change with the caller\'s list', () => {
    const values = ["read"];
    const admit: Middleware = (_req, _res, next) => next();
    const guard = describeGuard("scopes", values, admit);
    values.push("write");
    expect(guard).to.equal(admit);
    expect(guardOf(guard)).to.eql({ kind: "scopes", values: ["read"] });
    expect((guard as unknown as Record<symbol, unknown>)[Symbol.for("@svc/guard")]).to.equal(guardOf(guard));
  });

  it("is undefined for any other handler", () => {
    expect(guardOf(() => undefined)).to.equal(undefined);
  });
});

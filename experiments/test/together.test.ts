import { expect } from "chai";
import { together } from "../harness/together.ts";

describe("together()", () => {
  const started = (name: string, ended: string[]): { readonly name: string } & AsyncDisposable => ({
    name,
    [Symbol.asyncDispose]: async () => void ended.push(name),
  });

  it("resolves with the started services, in order", async () => {
    const ended: string[] = [];
    const [one, two, none] = await together([
      Promise.resolve(started("one", ended)),
      Promise.resolve(started("two", ended)),
      undefined,
    ]);
    expect([one.name, two.name, none]).to.deep.equal(["one", "two", undefined]);
    expect(ended).to.deep.equal([]);
  });

  it("stops the started services when one fails, including services that start later", async () => {
    const ended: string[] = [];
    const late = new Promise<AsyncDisposable>((resolve) =>
      setImmediate(() => resolve(started("late", ended))),
    );
    const failing = Promise.reject(new Error("no port"));
    const error: unknown = await together([failing, Promise.resolve(started("one", ended)), late]).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).to.include({ message: "no port" });
    expect(ended).to.deep.equal(["one", "late"]);
  });
});

import { guardedListener, OptionError } from "@svc/resilience";
import { expect } from "chai";

describe("guardedListener", () => {
  it("passes every event to the listener", () => {
    const heard: number[] = [];
    const tell = guardedListener<number>(
      (event) => heard.push(event),
      () => expect.fail("nothing failed"),
    );
    for (const event of [1, 2, 3]) tell(event);
    expect(heard).to.deep.equal([1, 2, 3]);
  });

  it("reports the first error that the listener throws, and does not throw it to the caller", () => {
    const failed: unknown[][] = [];
    const tell = guardedListener<string>(
      (event) => {
        throw new Error(event);
      },
      (suppressed, error) => failed.push([suppressed, (error as Error).message]),
    );
    for (const event of ["a", "b"]) tell(event);
    expect(failed).to.deep.equal([[0, "a"]]);
  });

  it("reports the rejection of an async listener", async () => {
    const failed: unknown[] = [];
    const tell = guardedListener<string>(
      (event): void => Promise.reject(new Error(event)) as never,
      (_, error) => failed.push((error as Error).message),
    );
    tell("a");
    tell("b");
    await new Promise(setImmediate);
    expect(failed).to.deep.equal(["a"]);
  });

  it("does nothing without a listener, and refuses a listener that is not a function", () => {
    expect(guardedListener(undefined, () => undefined)(1)).to.equal(undefined);
    expect(() => guardedListener("x" as never, () => undefined)).to.throw(
      OptionError,
      "guardedListener(): listener must be a function",
    );
  });
});

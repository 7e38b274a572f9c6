import { createEmitter, OptionError } from "@svc/resilience";
import { expect } from "chai";

describe("createEmitter", () => {
  it("passes every event to all listeners, in the order in which they were added", () => {
    const heard: unknown[] = [];
    const { emit, on } = createEmitter<number>(
      (event) => heard.push(["first", event]),
      () => expect.fail("nothing failed"),
    );
    const off = on((event) => heard.push(["second", event]));
    emit(1);
    off();
    emit(2);
    expect(heard).to.deep.equal([
      ["first", 1],
      ["second", 1],
      ["first", 2],
    ]);
  });

  it("when a listener throws, calls the other listeners, and reports the error instead of throwing it", () => {
    const failed: unknown[][] = [];
    const heard: string[] = [];
    const { emit, on } = createEmitter<string>(
      (event) => {
        throw new Error(event);
      },
      (suppressed, error) => failed.push([suppressed, (error as Error).message]),
    );
    on((event) => heard.push(event));
    for (const event of ["a", "b"]) emit(event);
    expect(failed).to.deep.equal([[0, "a"]]);
    expect(heard).to.deep.equal(["a", "b"]);
  });

  it("reports the rejection of an async listener", async () => {
    const failed: unknown[] = [];
    const { emit } = createEmitter<string>(
      (event): void => Promise.reject(new Error(event)) as never,
      (_, error) => failed.push((error as Error).message),
    );
    emit("a");
    emit("b");
    await new Promise(setImmediate);
    expect(failed).to.deep.equal(["a"]);
  });

  it("calls a listener that is added during an event only for later events", () => {
    const heard: string[] = [];
    const { emit, on } = createEmitter<number>(
      () => void on(() => heard.push("late")),
      () => expect.fail("nothing failed"),
    );
    emit(1);
    expect(heard).to.deep.equal([]);
    emit(2);
    expect(heard).to.deep.equal(["late"]);
  });

  it("does nothing without a listener, and refuses a listener that is not a function and more than 100 listeners", () => {
    const { emit, on } = createEmitter<number>(undefined, () => undefined);
    expect(emit(1)).to.equal(undefined);
    const wrong = "createEmitter(): listener must be a function";
    expect(() => createEmitter("x" as never, () => undefined)).to.throw(OptionError, wrong);
    expect(() => on(undefined as never)).to.throw(OptionError, wrong);
    for (let added = 0; added < 100; added++) on(() => undefined);
    expect(() => on(() => undefined)).to.throw(OptionError, "createEmitter(): at most 100 listeners");
  });
});

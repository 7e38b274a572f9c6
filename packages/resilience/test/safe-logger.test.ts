import { safeLogger } from "@svc/resilience";
import { expect } from "chai";

describe("safeLogger", () => {
  it("passes fields and message to the same level of the logger", () => {
    const lines: unknown[] = [];
    const write = (level: string) => (fields: object, message?: string) =>
      lines.push([level, fields, message]);
    const logger = safeLogger({ info: write("info"), warn: write("warn"), error: write("error") });
    logger?.info({ a: 1 }, "one");
    logger?.warn({ b: 2 });
    logger?.error({}, "three");
    expect(lines).to.deep.equal([
      ["info", { a: 1 }, "one"],
      ["warn", { b: 2 }, undefined],
      ["error", {}, "three"],
    ]);
  });

  it("calls the methods with the logger as this, and drops the errors that they throw", () => {
    let calls = 0;
    class Broken {
      readonly what = "the disk is full";
      info(): never {
        calls += 1;
        throw new Error(this.what);
      }
      warn = (): never => this.info();
      error = (): never => this.info();
    }
    const logger = safeLogger(new Broken());
    logger?.info({});
    logger?.warn({});
    logger?.error({});
    expect(calls).to.equal(3);
  });

  it("ignores the rejection of an async method, and calls of a level that the logger does not have", async () => {
    const rejected: unknown[] = [];
    const onRejection = (error: unknown): void => void rejected.push(error);
    process.on("unhandledRejection", onRejection);
    const logger = safeLogger({ warn: (): void => Promise.reject(new Error("no disk")) as never });
    logger?.warn({});
    logger?.fatal({}, "there is no such level");
    await new Promise(setImmediate);
    process.off("unhandledRejection", onRejection);
    expect(rejected).to.deep.equal([]);
  });

  it("returns undefined without a logger", () => {
    expect(safeLogger(undefined)).to.equal(undefined);
  });
});

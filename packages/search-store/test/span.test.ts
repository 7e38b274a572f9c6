import { expect } from "chai";
import { inSpan, type SpanHook } from "../src/span.ts";

const hang = (): Promise<never> => new Promise(() => undefined);

async function outcomeOf(span: unknown, run: () => Promise<string>): Promise<string> {
  return inSpan(span as SpanHook, "rag.search", {}, run).catch((error: unknown) => (error as Error).message);
}

describe("a span around an operation", () => {
  it("runs the operation exactly once and passes its outcome to the caller, even with a faulty hook", async () => {
    type Run = () => Promise<string>;
    const hooks: Readonly<Record<string, (name: string, attributes: object, run: Run) => unknown>> = {
      "calls it twice": async (_name, _attributes, run) => [await run(), await run()],
      "never calls it": () => undefined,
      throws: () => {
        throw new Error("a fault of the hook");
      },
      "rejects before": () => Promise.reject(new Error("a fault of the hook")),
      "rejects after": async (_name, _attributes, run) => {
        await run();
        throw new Error("a fault of the hook");
      },
      "does not wait for it": (_name, _attributes, run) => void run(),
      "never calls it, and never ends": hang,
      "never ends": async (_name, _attributes, run) => {
        await run();
        await hang();
      },
    };
    await Promise.all(
      Object.entries(hooks).map(async ([name, hook]) => {
        let runs = 0;
        const answer = await outcomeOf(hook, () => Promise.resolve(`${++runs}`));
        expect([answer, runs], name).to.deep.equal(["1", 1]);
        expect(await outcomeOf(hook, () => Promise.reject(new Error("its own"))), name).to.equal("its own");
      }),
    );
  });

  it("ends before the operation's result is returned", async () => {
    let ended = false;
    const answer = await outcomeOf(
      async (_name: string, _attributes: object, run: () => Promise<string>) => {
        await run();
        await new Promise(setImmediate);
        ended = true;
      },
      () => Promise.resolve("done"),
    );
    expect([answer, ended]).to.deep.equal(["done", true]);
  });
});

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import {
  DeadlineError,
  endsWithin,
  errorFields,
  isThenable,
  OptionError,
  withDeadline,
} from "@svc/resilience";
import { expect } from "chai";
import { deferred } from "./support/deferred.ts";
import { failure } from "./support/failure.ts";

const never = (): Promise<never> => new Promise(() => undefined);

describe("withDeadline", () => {
  it("resolves with the result of the call, or rejects with its error", async () => {
    expect(await withDeadline(10_000, () => Promise.resolve(1))).to.equal(1);
    expect(await withDeadline(10_000, () => 2)).to.equal(2);
    const boom = new Error("boom");
    expect(await failure(withDeadline(10_000, () => Promise.reject(boom)))).to.equal(boom);
    const thrown = withDeadline(10_000, () => {
      throw boom;
    });
    expect(await failure(thrown)).to.equal(boom);
  });

  it("rejects at the deadline when the call never settles, and aborts its signal with the same error", async () => {
    let reason: unknown;
    const error = await failure(
      withDeadline(5, (signal) => {
        signal.addEventListener("abort", () => (reason = signal.reason));
        return never();
      }),
    );
    expect(error).to.be.instanceOf(DeadlineError);
    expect(error).to.include({ name: "DeadlineError", code: "ERR_SVC_DEADLINE", ms: 5 });
    expect((error as Error).message).to.equal("no result within 5 ms");
    expect(reason).to.equal(error);
  });

  it("ignores a result and a rejection after the deadline", async () => {
    const unhandled: unknown[] = [];
    const listener = (reason: unknown): unknown => unhandled.push(reason);
    process.on("unhandledRejection", listener);
    try {
      const call = deferred<never>();
      expect(await failure(withDeadline(1, () => call.promise))).to.be.instanceOf(DeadlineError);
      call.reject(new Error("too late"));
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
      expect(unhandled).to.deep.equal([]);
    } finally {
      process.off("unhandledRejection", listener);
    }
  });

  it("removes its listener from the outer signal", async () => {
    const outer = new AbortController();
    const listeners = countListeners(outer.signal);
    await withDeadline(60_000, () => Promise.resolve(), { signal: outer.signal });
    await failure(withDeadline(60_000, () => Promise.reject(new Error("boom")), { signal: outer.signal }));
    await failure(withDeadline(1, never, { signal: outer.signal }));
    expect(listeners()).to.deep.equal({ added: 3, left: 0 });
  });

  it("keeps the process alive only while it waits", async () => {
    // If the timer were not cleared, the first process would exit a minute later; if it were unref'd, the second
    // process would exit immediately.
    expect(await run('withDeadline(60_000, async () => "done").then(console.log)')).to.equal("done");
    const hung = "withDeadline(30, () => new Promise(() => {})).catch((error) => console.log(error.code))";
    expect(await run(hung)).to.equal("ERR_SVC_DEADLINE");
  }).timeout(30_000);

  it("rejects without running the call when the time limit is negative", async () => {
    let called = false;
    const error = await failure(withDeadline(-3, () => (called = true)));
    expect(error).to.be.instanceOf(DeadlineError);
    expect(called).to.equal(false);
  });

  it("accepts a time limit that is too long for setTimeout", async () => {
    const call = deferred<string>();
    setImmediate(() => setTimeout(() => call.resolve("done"), 5));
    expect(await withDeadline(Infinity, () => call.promise)).to.equal("done");
    expect(await withDeadline(2 ** 40, () => Promise.resolve("done"))).to.equal("done");
  });

  it("rejects before the deadline with the reason of the outer signal", async () => {
    const outer = new AbortController();
    const reason = new Error("client went away");
    let inner: AbortSignal | undefined;
    const waiting = withDeadline(60_000, (signal) => ((inner = signal), never()), { signal: outer.signal });
    outer.abort(reason);
    expect(await failure(waiting)).to.equal(reason);
    expect(inner?.reason).to.equal(reason);
  });

  it("does not run the call when the outer signal has already aborted", async () => {
    let called = false;
    const reason = new Error("client went away");
    const waiting = withDeadline(60_000, () => (called = true), { signal: AbortSignal.abort(reason) });
    expect(await failure(waiting)).to.equal(reason);
    expect(called).to.equal(false);
  });

  it("rejects with the error that onTimeout throws, and still aborts the signal", async () => {
    const thrown = new Error("onTimeout");
    let aborted = false;
    const waiting = withDeadline(
      1,
      (signal) => {
        signal.addEventListener("abort", () => (aborted = true));
        return never();
      },
      {
        onTimeout: () => {
          throw thrown;
        },
      },
    );
    expect([await failure(waiting), aborted]).to.deep.equal([thrown, true]);
  });

  it("calls onTimeout once, and only at the deadline", async () => {
    let timeouts = 0;
    const onTimeout = (): unknown => timeouts++;
    await withDeadline(60_000, () => Promise.resolve(), { onTimeout });
    expect(timeouts).to.equal(0);
    await failure(withDeadline(1, never, { onTimeout }));
    expect(timeouts).to.equal(1);
  });

  it("refuses an invalid time limit and unknown options", async () => {
    const wrong = await failure(withDeadline(Number.NaN, never));
    expect(wrong).to.be.instanceOf(OptionError);
    expect((wrong as Error).message).to.equal("withDeadline(): ms must be a number; it is NaN");
    const unknown = await failure(withDeadline(1, never, { onTimeOut: () => undefined } as never));
    expect((unknown as Error).message).to.contain("onTimeOut is unknown");
  });
});

function countListeners(signal: AbortSignal): () => { added: number; left: number } {
  let added = 0;
  let removed = 0;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...args: Parameters<typeof add>) => (added++, add(...args));
  signal.removeEventListener = (...args: Parameters<typeof remove>) => (removed++, remove(...args));
  return () => ({ added, left: added - removed });
}

async function run(statement: string): Promise<string> {
  const code = `import { withDeadline } from "@svc/resilience"; ${statement};`;
  const args = ["--conditions=@svc/source", "--input-type=module", "-e", code];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: import.meta.dirname,
    timeout: 25_000,
  });
  return stdout.trim();
}

describe("endsWithin", () => {
  it("returns true for a promise that resolves within the time limit", async () => {
    expect(await endsWithin(60_000, Promise.resolve("result"))).to.equal(true);
  });

  it("returns false for a promise that is still pending at the time limit", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    expect(await endsWithin(1, promise)).to.equal(false);
    resolve();
  });

  it("accepts a time limit that is too long for setTimeout", async () => {
    for (const ms of [2 ** 31, Infinity]) {
      const { promise, resolve } = Promise.withResolvers<void>();
      setImmediate(() => setTimeout(resolve, 5));
      expect(await endsWithin(ms, promise), String(ms)).to.equal(true);
    }
  });

  it("rejects with the reason of a promise that rejects within the time limit", async () => {
    const fault = new Error("refused");
    expect(await failure(endsWithin(60_000, Promise.reject(fault)))).to.equal(fault);
  });
});

describe("isThenable", () => {
  it("returns true only for promises and other objects with a then method", () => {
    const member = "then" as string;
    const withThen = (value: unknown): object => ({ [member]: value });
    const thenable = withThen(() => undefined);
    const others = [undefined, null, "then", {}, withThen(1), () => undefined];
    expect([Promise.resolve(), thenable].map((each: unknown) => isThenable(each))).to.eql([true, true]);
    expect(others.filter((each: unknown) => isThenable(each))).to.eql([]);
  });
});

describe("errorFields", () => {
  it("returns the name and the code of an error, without its message", () => {
    const error = Object.assign(new TypeError("redis://:secret@host"), { code: "ECONNREFUSED" });
    expect(errorFields(error)).to.eql({ error: "TypeError", code: "ECONNREFUSED" });
    expect(errorFields(Object.assign(new Error("x"), { code: 7 }))).to.eql({ error: "Error" });
    expect(errorFields("refused")).to.eql({});
  });
});

import {
  currentContext,
  inSpan,
  type OpenSpan,
  RequestContext,
  runWithContext,
  type SpanHook,
  type SpanKind,
} from "@svc/context";
import { expect } from "chai";
import { mock } from "node:test";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const CALLER = traceOf("b7ad6b7169203331");
const OWN = traceOf("00f067aa0ba902b7");
const INNER = traceOf("53995c3f42cd8ad8");
const NO_ATTRIBUTES = () => undefined;

function traceOf(spanId: string) {
  return { traceId: TRACE_ID, traceparent: `00-${TRACE_ID}-${spanId}-01`, tracestate: undefined };
}

/** A hook whose spans have this trace. */
function hookWith(trace: unknown): SpanHook {
  return (_name, _kind, _attributes, run) => run({ set: NO_ATTRIBUTES, trace } as OpenSpan);
}

const hang = (): Promise<never> => new Promise(() => undefined);
/** Waits until all promises that do not depend on a timer have settled. */
const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

async function outcomeOf(span: unknown, run: () => Promise<string>): Promise<string> {
  return inSpan(span as SpanHook, "rag.search", "internal", {}, run).catch(
    (error: unknown) => (error as Error).message,
  );
}

describe("a span around an operation", () => {
  it("passes name, kind and attributes to the hook, and later attributes to the span", async () => {
    const seen: unknown[] = [];
    const hook: SpanHook = (name, kind, attributes, run) => {
      seen.push(name, kind, attributes);
      return run({ set: (more) => void seen.push(more), trace: undefined });
    };
    const result = await inSpan(hook, "rag.search", "internal", { "rag.store": "s" }, ({ set }) => {
      set({ "rag.hits": 2 });
      return Promise.resolve(7);
    });
    expect(result).to.equal(7);
    expect(seen).to.eql(["rag.search", "internal", { "rag.store": "s" }, { "rag.hits": 2 }]);
  });

  it("runs the operation without a hook, with a span that ignores attributes and does not have a trace", async () => {
    const trace = await inSpan(undefined, "rag.search", "internal", {}, (span) => {
      span.set({ a: 1 });
      return Promise.resolve([span.trace]);
    });
    expect(trace).to.eql([undefined]);
  });

  describe("with a faulty hook", () => {
    type Run = (span?: unknown) => Promise<string>;
    type Faulty = (name: string, kind: string, attributes: object, run: Run) => unknown;
    const fault = (): never => {
      throw new Error("a fault of the hook");
    };
    const hooks: Readonly<Record<string, Faulty>> = {
      "calls it twice": async (_name, _kind, _attributes, run) => [await run(), await run()],
      "never calls it": () => undefined,
      throws: fault,
      "throws after the call": (_name, _kind, _attributes, run) => {
        void run();
        fault();
      },
      "rejects before": () => Promise.reject(new Error("a fault of the hook")),
      "rejects after": async (_name, _kind, _attributes, run) => {
        await run();
        fault();
      },
      "does not wait for it": (_name, _kind, _attributes, run) => void run(),
      "passes a span that throws": (_name, _kind, _attributes, run) =>
        run({
          set: fault,
          get trace() {
            return fault();
          },
        }),
      "never calls it, and never ends": hang,
      "never ends": async (_name, _kind, _attributes, run) => {
        await run();
        await hang();
      },
    };

    beforeEach(() => mock.timers.enable({ apis: ["setTimeout"] }));
    afterEach(() => mock.timers.reset());

    for (const [name, hook] of Object.entries(hooks)) {
      it(`TRACE-21 runs the operation exactly once and passes on its outcome if the hook ${name}`, async () => {
        let runs = 0;
        const answers = [
          outcomeOf(hook, () => Promise.resolve(`${++runs}`)),
          outcomeOf(hook, () => Promise.reject(new Error("its own"))),
        ];
        for (let second = 0; second < 2; second++) {
          await settled();
          mock.timers.tick(1000);
        }
        expect(await Promise.all(answers)).to.eql(["1", "its own"]);
        expect(runs).to.equal(1);
      });
    }

    it("TRACE-21 delays the operation by at most a second if the hook never calls it", async () => {
      let begun = false;
      const answer = outcomeOf(hang, () => {
        begun = true;
        return Promise.resolve("done");
      });
      mock.timers.tick(999);
      await settled();
      expect(begun).to.equal(false);
      mock.timers.tick(1);
      await settled();
      expect(begun).to.equal(true);
      mock.timers.tick(1000);
      expect(await answer).to.equal("done");
    });
  });

  it("TRACE-21 causes no unhandled rejection if the hook ignores the outcome of a failing operation", async () => {
    const unhandled: unknown[] = [];
    const listener = (error: unknown): void => void unhandled.push(error);
    process.on("unhandledRejection", listener);
    try {
      const ignores: SpanHook = (_name, _kind, _attributes, run) => {
        void run({ set: NO_ATTRIBUTES, trace: undefined });
        return undefined as never;
      };
      expect(await outcomeOf(ignores, () => Promise.reject(new Error("its own")))).to.equal("its own");
      await settled();
      expect(unhandled).to.eql([]);
    } finally {
      process.off("unhandledRejection", listener);
    }
  });

  it("ends before the operation's result is returned", async () => {
    let ended = false;
    const answer = await outcomeOf(
      async (_name: string, _kind: string, _attributes: object, run: () => Promise<string>) => {
        await run();
        await new Promise(setImmediate);
        ended = true;
      },
      () => Promise.resolve("done"),
    );
    expect([answer, ended]).to.deep.equal(["done", true]);
  });
});

describe("the trace of a span", () => {
  const tracesIn = async (kind: SpanKind, hook: SpanHook): Promise<unknown[]> => {
    const context = new RequestContext({ trace: CALLER });
    const during = await runWithContext(context, () =>
      inSpan(hook, "a", kind, {}, async (span) => {
        await Promise.resolve();
        return [span.trace, currentContext()?.trace];
      }),
    );
    return [...during, context.trace];
  };

  for (const kind of ["server", "consumer"] as const) {
    it(`COR-14 is the trace of the context while a ${kind} span is open`, async () => {
      expect(await tracesIn(kind, hookWith(OWN))).to.eql([OWN, OWN, CALLER]);
    });
  }

  for (const kind of ["client", "internal"] as const) {
    it(`TRACE-19 is passed to the operation in a ${kind} span, and leaves the context's trace unchanged`, async () => {
      expect(await tracesIn(kind, hookWith(OWN))).to.eql([OWN, CALLER, CALLER]);
    });
  }

  it("is no longer the context's trace after an operation that failed", async () => {
    const context = new RequestContext({ trace: CALLER });
    await runWithContext(context, () =>
      inSpan(hookWith(OWN), "a", "consumer", {}, () => Promise.reject(new Error("failed"))),
    ).catch(() => undefined);
    expect(context.trace).to.eql(CALLER);
  });

  it("belongs to the innermost open span, regardless of the order in which spans end", () => {
    const context = new RequestContext({ trace: CALLER });
    const [endOuter, endInner] = [context.openSpan(OWN), context.openSpan(INNER)];
    expect(context.trace).to.eql(INNER);
    endOuter();
    expect(context.trace).to.eql(INNER);
    endInner();
    expect(context.trace).to.eql(CALLER);
  });

  it("stays the context's trace while another span with the same trace is open", () => {
    const context = new RequestContext();
    const [endFirst, endSecond] = [context.openSpan(OWN), context.openSpan(OWN)];
    endSecond();
    endSecond();
    expect(context.openTrace).to.eql(OWN);
    endFirst();
    expect(context.openTrace).to.equal(undefined);
  });

  for (const [what, trace] of Object.entries({
    undefined: undefined,
    "a version that is not 00": { ...OWN, traceparent: OWN.traceparent.replace("00", "cc") },
    "a trace id of zeros": { ...OWN, traceparent: `00-${"0".repeat(32)}-00f067aa0ba902b7-01` },
    "no traceparent": { traceId: TRACE_ID },
    "a number as its trace": 7,
  })) {
    it(`is ignored if the hook passes ${what}`, async () => {
      expect(await tracesIn("consumer", hookWith(trace))).to.eql([undefined, CALLER, CALLER]);
    });
  }
});

import {
  type AnyPlugin,
  compose,
  definePlugin,
  joinPlugins,
  mergeParts,
  type PartsOf,
  type PluginContext,
} from "@svc/plugin";
import { defineOptions, type OptionEntries, string, withDefault, withNames } from "@svc/options";
import { expect } from "chai";

const first = definePlugin({
  name: "store",
  needs: ["database"],
  options: defineOptions("[plugin.store]", { table: { key: "table", kind: withDefault(string(), "a") } }),
  start: ({ options }) => ({
    parts: { store: options },
    offers: { tools: 5 },
    info: { table: options.table },
  }),
});

const second = definePlugin({
  name: "store",
  uses: ["metrics"],
  options: defineOptions("[plugin.store]", { page: { key: "page", kind: withDefault(string(), "/b") } }),
  start: ({ options, part }) => ({
    parts: {
      page: { options: Object.keys(options), tools: part<number>("tools"), store: part<object>("store") },
    },
    info: () => ({ page: options.page }),
    finish: () => ({ checks: [] }),
  }),
});

/** Returns a plugin context that collects faults in `faults`, as a service does. */
function contextWith(options: object, faults: unknown[] = []): PluginContext<never> {
  const attempt = async (make: () => unknown): Promise<unknown> => {
    try {
      return await make();
    } catch (error) {
      faults.push(error);
      return undefined;
    }
  };
  const named = withNames(options, { subject: "the service", of: (option) => `plugin.store.${option}` });
  const { signal } = new AbortController();
  return { options: named, attempt, part: () => undefined, signal } as unknown as PluginContext<never>;
}

describe("joinPlugins", () => {
  it("stops the plugins that have started when a later one throws", async () => {
    const stopped: string[] = [];
    const opened = definePlugin({
      name: "store",
      start: () => ({ stop: ["close", () => void stopped.push("opened")] }),
    });
    const broken = definePlugin({
      name: "store",
      start: () => {
        throw new TypeError("no such file");
      },
    });
    const context = { ...contextWith({}), attempt: async (make: () => unknown) => make() };
    const started = joinPlugins("store", opened, broken).start(context as unknown as PluginContext<never>);
    expect(await Promise.resolve(started).catch((error: unknown) => String(error))).to.equal(
      "TypeError: no such file",
    );
    expect(stopped).to.deep.equal(["opened"]);
  });

  it("stops the plugins that have started when a later one hangs until the time limit", async () => {
    const stopped: string[] = [];
    const opens = (name: string, until?: Promise<void>): AnyPlugin =>
      definePlugin({
        name: "store",
        start: async () => (await until, { stop: ["close", () => void stopped.push(name)] as const }),
      });
    const { promise, resolve } = Promise.withResolvers<void>();
    const timeLimit = new AbortController();
    const context = { ...contextWith({}), signal: timeLimit.signal };
    const starting = joinPlugins("store", opens("first"), opens("late", promise)).start(context);
    await new Promise((turn) => setImmediate(turn));
    timeLimit.abort();
    expect(stopped).to.deep.equal(["first"]);
    resolve();
    await (await starting).stop?.[1](AbortSignal.abort());
    expect(stopped).to.deep.equal(["first", "late"]);
  });

  it("needs none of the plugins that it joins", () => {
    const base = definePlugin({ name: "base", start: () => ({}) });
    const page = definePlugin({
      name: "page",
      needs: ["base", "database"],
      uses: ["base"],
      start: () => ({}),
    });
    const { needs, uses } = joinPlugins("pages", base, page);
    expect([needs, uses]).to.deep.equal([["database"], []]);
  });

  it("creates one plugin with the options, needs and parts of all plugins", async () => {
    const store = joinPlugins("store", first, second);
    expect(store).to.deep.include({ name: "store", needs: ["database"], uses: ["metrics"] });
    expect(store.options.resolve({})).to.deep.equal({ table: "a", page: "/b" });
    const made = await store.start(contextWith({ table: "a", page: "/b" }));
    const parts: PartsOf<typeof store> | undefined = made.parts;
    expect(parts?.page.options).to.deep.equal(["page"]);
    expect([parts?.page.tools, parts?.page.store]).to.deep.equal([5, parts?.store]);
    expect((made.info as () => object)()).to.deep.equal({ table: "a", page: "/b" });
    expect(await made.finish?.({}, {})).to.have.property("checks");
  });

  it("reports invalid parts of one plugin, and keeps its stop hook", async () => {
    const stop = ["close", () => undefined] as const;
    for (const [made, message] of [
      [undefined, "must return an object of parts"],
      [5, "must return an object of parts"],
      [{ stop, edges: [] }, "returned edges, which is unknown"],
      [{ stop, routes: 5 }, "returned invalid routes: must be a list"],
      [{ stop, parts: { store: 1 } }, "has store twice in parts"],
      [{ stop, offers: { tools: 1 } }, "has tools twice in offers"],
      [{ stop, handlers: { clean() {} } }, "has clean twice in handlers"],
    ] as const) {
      const start = (): object => made as object;
      const jobs = definePlugin({ name: "store", start: () => ({ handlers: { clean() {} } }) });
      const faults: unknown[] = [];
      const store = joinPlugins("store", first, jobs, definePlugin({ name: "store", start }));
      const parts = await store.start(contextWith({ table: "a" }, faults));
      expect(faults.map(String).join(), message).to.contain(`plugin.store: ${message}`);
      expect(parts.stop, message).to.equal(typeof made === "object" ? stop : undefined);
    }
  });

  it("reports invalid parts from finish(), and stops the other plugins' parts when one finish() throws", async () => {
    const finished = (finish: () => object): AnyPlugin =>
      definePlugin({ name: "store", start: () => ({ finish }) });
    const faults: unknown[] = [];
    const wrong = joinPlugins(
      "store",
      first,
      finished(() => ({ pages: [] })),
    );
    await (await wrong.start(contextWith({ table: "a" }, faults))).finish?.({}, {});
    expect(faults.map(String).join()).to.contain("plugin.store: returned pages, which is unknown");

    let stopped = 0;
    const opens = finished(() => ({ stop: ["close", () => void (stopped += 1)] }));
    const throws = finished(() => {
      throw new TypeError("no handlers");
    });
    const context = { ...contextWith({}), attempt: async (make: () => unknown) => make() };
    const made = await joinPlugins("store", opens, throws).start(context as unknown as PluginContext<never>);
    const error: unknown = await Promise.resolve(made.finish?.({}, {})).catch((each: unknown) => each);
    expect([String(error), stopped]).to.deep.equal(["TypeError: no handlers", 1]);
  });

  it("rejects two plugins that define one option, key or nested table differently", () => {
    const plugin = (entries: OptionEntries): AnyPlugin =>
      definePlugin({ name: "store", options: defineOptions("[plugin.store]", entries), start: () => ({}) });
    const table = { key: "table", kind: withDefault(string(), "b") };
    const nested = (entries: OptionEntries): AnyPlugin =>
      plugin({ inner: { key: "inner", table: defineOptions("[plugin.store.inner]", entries) } });
    expect(() => joinPlugins("store", first, plugin({ table }))).to.throw(
      TypeError,
      "two plugins of [plugin.store] define the option table differently",
    );
    expect(() => joinPlugins("store", first, plugin({ other: table }))).to.throw(
      TypeError,
      "two options of [plugin.store] have the key table",
    );
    expect(() => joinPlugins("store", nested({}), nested({ table }))).to.throw(TypeError, "option inner");
    // Two installed copies of a package define the same option twice.
    expect(
      joinPlugins("store", plugin({ table }), plugin({ table: { ...table } })).options.keys,
    ).to.have.keys("table");
    expect(() => joinPlugins("Store" as string, first)).to.throw(TypeError, "lower-case letters");
  });

  it("starts the other plugins when one is rejected", async () => {
    const faulty = definePlugin({
      name: "store",
      start: () => {
        throw new Error("refused");
      },
    });
    const faults: unknown[] = [];
    const { parts } = await joinPlugins("store", faulty, first).start(contextWith({ table: "a" }, faults));
    expect(parts).to.have.property("store");
    expect(faults.map(String)).to.deep.equal(["Error: refused"]);
  });
});

describe("mergeParts", () => {
  it("runs layers in order, and stops all parts even when one stop throws", async () => {
    const order: string[] = [];
    const layer = (name: string) => (_req: unknown, _res: unknown, next: () => void) => (
      order.push(name),
      next()
    );
    const stop = (name: string) => (): void => void order.push(name);
    const merged = mergeParts(
      {
        edge: layer("one"),
        stop: [
          "close",
          () => {
            throw new Error("cannot stop");
          },
        ],
      },
      { edge: layer("two"), stop: ["close", stop("stopped")] },
    );
    merged.edge?.({} as never, {} as never, () => order.push("next"));
    const error: unknown = await Promise.resolve(merged.stop?.[1](AbortSignal.abort())).catch(
      (each: unknown) => each,
    );
    expect(String(error)).to.equal("Error: cannot stop");
    expect(order).to.deep.equal(["one", "two", "next", "stopped"]);
  });

  it("waits for a slow stop even if another stop hook throws immediately", async () => {
    let isStopped = false;
    const fails = () => Promise.reject(new Error("cannot stop"));
    const slow = async (): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve));
      isStopped = true;
    };
    const stop = mergeParts({ stop: ["close", fails] }, { stop: ["close", slow] }).stop?.[1];
    const stopping = Promise.resolve(stop?.(AbortSignal.abort()));
    expect(String(await stopping.catch((error: unknown) => error))).to.equal("Error: cannot stop");
    expect(isStopped).to.equal(true);
    const both = mergeParts({ stop: ["close", fails] }, { stop: ["close", fails] }).stop?.[1];
    const errors: unknown = await Promise.resolve(both?.(AbortSignal.abort())).catch(
      (error: unknown) => error,
    );
    expect((errors as AggregateError).errors).to.have.length(2);
  });

  it("compose() passes an error to next() without running later layers", () => {
    const seen: unknown[] = [];
    const fails = compose([(_req, _res, next) => next(new Error("no")), () => seen.push("second")]);
    fails({} as never, {} as never, (error?: unknown) => seen.push(String(error)));
    expect(seen).to.deep.equal(["Error: no"]);
  });
});

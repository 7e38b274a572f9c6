import {
  compose,
  definePlugin,
  joinPlugins,
  mergeParts,
  type PartsOf,
  type PluginContext,
} from "@svc/plugin";
import { defineOptions, string, withDefault, withNames } from "@svc/options";
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

/** A context that collects faults as a service does. */
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
  return { options: named, attempt, part: () => undefined } as unknown as PluginContext<never>;
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

  it("makes one plugin with the options, needs and parts of all", async () => {
    const store = joinPlugins("store", first, second);
    expect(store).to.deep.include({ name: "store", needs: ["database"], uses: ["metrics"] });
    expect(store.options.resolve({})).to.deep.equal({ table: "a", page: "/b" });
    const made = await store.start(contextWith({ table: "a", page: "/b" }));
    const parts: PartsOf<typeof store> | undefined = made.parts;
    expect(parts?.page.options).to.deep.equal(["page"]);
    expect([parts?.page.tools, parts?.page.store]).to.deep.equal([5, parts?.store]);
    expect((made.info as () => object)()).to.deep.equal({ table: "a", page: "/b" });
    expect(await made.finish?.({})).to.have.property("checks");
  });

  it("starts the others when one is refused", async () => {
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
  it("runs layers in turn, and stops all even when one stop throws", async () => {
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

  it("passes an error on without the layers behind it", () => {
    const seen: unknown[] = [];
    const fails = compose([(_req, _res, next) => next(new Error("no")), () => seen.push("second")]);
    fails({} as never, {} as never, (error?: unknown) => seen.push(String(error)));
    expect(seen).to.deep.equal(["Error: no"]);
  });
});

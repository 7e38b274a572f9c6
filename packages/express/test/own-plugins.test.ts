import type { Middleware } from "@svc/context";
import { createService, type ServiceOptions } from "@svc/express";
import { type AnyPlugin, definePlugin } from "@svc/plugin";
import {
  ConfigurationError,
  defineOptions,
  func,
  objectWith,
  optional,
  string,
  withDefault,
} from "@svc/options";
import { runSample } from "@svc/test-support";
import { expect } from "chai";
import request from "supertest";
import { startPlugins, type PluginSurroundings } from "../src/plugins/start.ts";
import { createStopHooks } from "../src/stop-hooks.ts";

const readme = new URL("../README.md", import.meta.url);

function tomlOf(enabled: readonly string[], more = ""): string {
  return `[service]\nname = "orders"\nport = 0\n[plugins]\nenabled = ${JSON.stringify(enabled)}\n${more}`;
}

/** Returns the message of the error with which createService() rejects these plugins. */
async function refusal(
  plugins: Readonly<Record<string, AnyPlugin>>,
  {
    enabled = Object.keys(plugins),
    more = "",
    options = {},
  }: { enabled?: string[]; more?: string; options?: object } = {},
): Promise<string> {
  try {
    const given = { config: { toml: tomlOf(enabled, more) }, env: {}, plugins, ...silent, ...options };
    await createService(given as ServiceOptions);
  } catch (error) {
    expect((error as ConfigurationError).code).to.equal("ERR_SVC_CONFIGURATION");
    return (error as ConfigurationError).message;
  }
  throw new Error("nothing was refused");
}

const silent = { logDestination: { write: () => undefined }, signals: false } as const;

const audit = definePlugin({
  name: "audit",
  options: defineOptions("[plugin.audit]", {
    /** Header that names the auditor. Default: x-auditor. */
    header: { key: "header", env: "SVC_AUDIT_HEADER", kind: withDefault(string(), "x-auditor") },
    /** Called for every entry. Default: none. */
    onEntry: { kind: optional(func<(entry: string) => void>()) },
  }),
  start: ({ options }) => ({ parts: { audit: { header: options.header } } }),
});

describe("custom plugins", function () {
  this.timeout(30_000);

  it("work as in the README: settings, options in code, request order, /info, stop hook and service member", async () => {
    await using sample = await runSample(readme, 7);
    const url = await sample.url;
    const entries = await fetch(`${url}/entries`, { headers: { "x-by": "ann" } });
    expect(await entries.json()).to.deep.equal(["GET by ann"]);
    const info = (await (await fetch(`${url}/info`)).json()) as { plugins: unknown };
    expect(info.plugins).to.deep.include({ name: "audit", entries: 2 });
    sample.kill("SIGTERM");
    const { code, stdout } = await sample.ended;
    expect(code).to.equal(0);
    expect(stdout).to.contain("GET by ann").and.to.contain("2 entries");
  });

  it("receive the object passed in code as one option if that option has the plugin's name", async () => {
    const labels = definePlugin({
      name: "labels",
      options: defineOptions("[plugin.labels]", {
        /** The labels by name. Default: none. */
        labels: {
          kind: withDefault(objectWith<Readonly<Record<string, string>>>("an object of labels"), {}),
        },
      }),
      start: ({ options }) => ({ parts: { labels: options.labels } }),
    });
    const plugins = { labels };
    const config = { toml: tomlOf(["labels"]) };
    const given = await createService({ config, env: {}, plugins, labels: { color: "red" }, ...silent });
    expect(given.labels).to.deep.equal({ color: "red" });
    const omitted = await createService({ config, env: {}, plugins: { labels }, ...silent });
    expect(omitted.labels).to.deep.equal({});
    expect(await refusal(plugins, { options: { labels: 5 } })).to.contain(
      "labels: must be an object of labels; it is 5",
    );
  });

  it("are typed as members of the service, and are undefined while they are off", async () => {
    const on = await createService({
      config: { toml: tomlOf(["audit"]) },
      env: {},
      plugins: { audit },
      ...silent,
    });
    const member: { readonly header: string } | undefined = on.audit;
    expect(member).to.deep.equal({ header: "x-auditor" });
    const off = await createService({ config: { toml: tomlOf([]) }, env: {}, plugins: { audit }, ...silent });
    expect(off.audit).to.equal(undefined);
    // @ts-expect-error -- onEntry is a function
    const wrong: ServiceOptions<{ audit: typeof audit }> = { audit: { onEntry: 5 } };
    expect(wrong).to.be.an("object");
  });

  it("report faults in the file, the environment and code together", async () => {
    const options = { audit: { onEntri: 1 }, role: "boss", env: { SVC_AUDIT_HEADER: "" } };
    const message = await refusal({ audit }, { more: "[plugin.audit]\nheader = 5\nheeder = 1\n", options });
    expect(message)
      .to.contain("role: must be one of")
      .and.to.contain("plugin.audit.header: must be")
      .and.to.contain("plugin.audit.heeder: is unknown; did you mean header?");
    expect(await refusal({ audit }, { options: { audit: { onEntri: 1 } } })).to.contain(
      "audit.onEntri: is unknown; did you mean onEntry?",
    );
    expect(
      await refusal({ audit }, { enabled: [], options: { audit: { onEntry: () => undefined } } }),
    ).to.contain("audit: has no effect without the plugin audit");
  });

  it("run after authentication and before or after the body is parsed, in list order", async () => {
    const seen: string[] = [];
    const gate = definePlugin({
      name: "gate",
      start: () => ({
        identity: (_req, _res, next) => (seen.push("identity"), next()),
        admission: (req, _res, next) => {
          seen.push(`admission, body ${"body" in req && req.body !== undefined ? "read" : "unread"}`);
          next();
        },
        behindBody: (req, _res, next) => (
          seen.push(`behind ${JSON.stringify((req as { body?: unknown }).body)}`),
          next()
        ),
      }),
    });
    const { app } = await createService({
      config: { toml: tomlOf(["gate"]) },
      env: {},
      plugins: { gate },
      ...silent,
    });
    await request(app).post("/orders").send({ id: 1 });
    expect(seen).to.deep.equal(["identity", "admission, body unread", 'behind {"id":1}']);
  });

  describe("are stopped, with an error that names the faulty plugin, if one of them", () => {
    const thenable = ["th", "en"].join("");
    const faulty: Readonly<Record<string, readonly [start: () => object, message: string]>> = {
      throws: [
        () => {
          throw new TypeError("no disk at postgres://u:secret@host/");
        },
        "plugin.faulty: did not start: TypeError: no disk at postgres://***@host/",
      ],
      "returns nothing": [() => undefined as never, "plugin.faulty: must return an object of parts"],
      "returns a wrong shape": [
        () => ({ edge: 5 }),
        "plugin.faulty: returned invalid edge: must be a function",
      ],
      "returns an unknown slot": [() => ({ edges: [] }), "plugin.faulty: returned edges, which is unknown"],
      "adds a member that already exists": [
        () => ({ parts: { log: {} } }),
        "plugin.faulty: adds service.log, which already exists",
      ],
      "adds a member that makes the service a promise": [
        () => ({ parts: { [thenable]: () => undefined } }),
        "plugin.faulty: adds service.then, which already exists",
      ],
      "returns a list": [() => [], "plugin.faulty: must return an object of parts"],
      "throws an error without a fault": [
        () => {
          throw new ConfigurationError("disk", []);
        },
        "plugins: disk is configured wrongly",
      ],
      "adds a route that the service has": [
        () => ({ routes: [{ path: "/health", handler: () => undefined }] }),
        "plugin.faulty: has the route /health, which already exists",
      ],
      "adds a route that another plugin has": [
        () => ({ routes: [{ path: "/first", handler: () => undefined }] }),
        "plugin.faulty: has the route /first, which already exists",
      ],
      "has a check without a name": [
        () => ({ checks: [{ check: () => undefined }] }),
        "plugin.faulty: returned invalid checks: must be a list in which each entry is a readiness check such as",
      ],
      "adds a check with the name of another plugin's check": [
        () => ({ checks: [{ name: "first", critical: false, check: () => undefined }] }),
        "plugin.faulty: has the check first, which already exists",
      ],
      "has a table without a key": [
        () => ({ schemas: [{ ensureSchema: () => undefined }] }),
        "plugin.faulty: returned invalid schemas",
      ],
      "has a handler that is not a function": [
        () => ({ handlers: { clean: 5 } }),
        "plugin.faulty: returned invalid handlers: must be an object of functions by task",
      ],
      "has a schedule without a task": [
        () => ({ schedules: { clean: { everySeconds: 60 } as never } }),
        "plugin.faulty: returned invalid schedules: must be an object of schedules by name",
      ],
      "has schedules without a queue": [
        () => ({ schedules: { clean: { everySeconds: 60, task: "clean" } as { task: string } } }),
        "contains faulty, which has schedules: add queue",
      ],
      "has jobs without a queue": [
        () => ({ handlers: { clean() {} } }),
        "contains faulty, which has jobs: add queue",
      ],
    };
    for (const [what, [start, expected]] of Object.entries(faulty)) {
      it(what, async () => {
        let stopped = 0;
        const first = definePlugin({
          name: "first",
          start: () => ({
            routes: [{ path: "/first", handler: () => undefined }],
            checks: [{ name: "first", critical: false, check: () => ({ healthy: true, detail: "" }) }],
            stop: ["close", () => void (stopped += 1)] as const,
          }),
        });
        const message = await refusal({ first, faulty: definePlugin({ name: "faulty", start }) });
        expect(message).to.contain(expected).and.to.not.contain("secret");
        expect(stopped).to.equal(1);
      });
    }
  });

  it("are named in the error when they and the application have a handler for the same task", async () => {
    const more = '[plugin.database]\nurl = "postgres://127.0.0.1:1/x"\n';
    const start = (): object => ({ handlers: { clean() {} } });
    const cleaner = definePlugin({ name: "cleaner", start });
    const options = { jobs: { clean: () => undefined } };
    const enabled = ["database", "queue", "cleaner"];
    expect(await refusal({ cleaner }, { enabled, more, options })).to.contain(
      "jobs.clean: is the task of the plugin cleaner",
    );
  });

  it("add schedules to those of the application, which must have other names and handlers", async () => {
    const more = '[plugin.database]\nurl = "postgres://127.0.0.1:1/x"\n';
    const daily = { everySeconds: 86_400, task: "clean" };
    const start = (): object => ({ handlers: { clean() {} }, schedules: { daily } });
    const cleaner = definePlugin({ name: "cleaner", start });
    const enabled = ["database", "queue", "cleaner"];
    const plugins = { cleaner };
    const options = { config: { toml: tomlOf(enabled, more) }, env: {}, plugins, ...silent };
    const service = await createService({
      ...options,
      schedules: { hourly: { ...daily, everySeconds: 3600 } },
    });
    const { plugins: shown } = (await request(service.app).get("/info")).body as {
      readonly plugins: readonly {
        readonly name: string;
        readonly schedules?: readonly { readonly name: string }[];
      }[];
    };
    const ticks = shown.find(({ name }) => name === "queue")?.schedules;
    expect(ticks?.map(({ name }) => name)).to.have.members(["daily", "hourly"]);
    await service.stop();
    const message = await refusal(plugins, { enabled, more, options: { schedules: { daily } } });
    expect(message).to.contain(
      "schedules.daily: is also a schedule of the plugin cleaner; rename one of them",
    );
    const orphan = definePlugin({
      name: "orphan",
      start: () => ({ ...start(), schedules: { x: { ...daily, task: "y" } } }),
    });
    expect(await refusal({ orphan }, { enabled: ["database", "queue", "orphan"], more })).to.contain(
      'schedules.x.task: "y" has no handler in jobs; expected one of clean',
    );
  });

  it("are rejected when they need a disabled plugin, or depend on each other", async () => {
    const needy = definePlugin({ name: "needy", needs: ["cache"], start: () => ({}) });
    expect(await refusal({ needy })).to.contain(
      "plugins.enabled: contains needy, which needs cache: add cache",
    );
    const a = definePlugin({ name: "a", needs: ["b"], start: () => ({}) });
    const b = definePlugin({ name: "b", uses: ["a"], start: () => ({}) });
    expect(await refusal({ a, b })).to.contain("plugins.a: depends on itself: a -> b -> a");
  });

  it("are rejected if their name is taken or differs from their key, or if definePlugin() did not create them", async () => {
    const start = (): object => ({});
    const taken = definePlugin({ name: "cache", start });
    expect(await refusal({ cache: taken })).to.contain("plugins.cache: is the name of a built-in plugin");
    const option = definePlugin({ name: "routes", start });
    expect(await refusal({ routes: option })).to.contain("plugins.routes: is the name of an option");
    expect(await refusal({ other: audit })).to.contain(
      "plugins.other: is the plugin audit; pass it under that name",
    );
    expect(await refusal({ audit: { start } as never })).to.contain("plugins: must be an object of plugins");
  });

  it("start after the plugins that they need, regardless of their order in the list", async () => {
    const order: string[] = [];
    const plugin = (name: string, needs: readonly string[]): AnyPlugin =>
      definePlugin({ name, needs, start: () => (order.push(name), {}) });
    const plugins = { a: plugin("a", ["b"]), b: plugin("b", ["c"]), c: plugin("c", []) };
    await createService({ config: { toml: tomlOf(["a", "b", "c"]) }, env: {}, plugins, ...silent });
    expect(order).to.deep.equal(["c", "b", "a"]);
  });

  it("are stopped even when their parts are rejected", async () => {
    let stopped = 0;
    const wrong = definePlugin({
      name: "wrong",
      start: () => ({ edge: 5 as never, stop: ["close", () => void (stopped += 1)] as const }),
    });
    expect(await refusal({ wrong })).to.contain("plugin.wrong: returned invalid edge");
    expect(stopped).to.equal(1);
  });

  it("may add parts in finish(), and keep the parts from start()", async () => {
    const page: Middleware = (_req, _res, next) => next();
    let stopped = 0;
    const count = (): void => void (stopped += 1);
    const two = definePlugin({
      name: "two",
      start: () => ({
        parts: { one: 1 },
        page,
        stop: ["close", count] as const,
        finish: () => ({ parts: { two: 2 }, page: undefined, stop: ["close", count] as const }),
      }),
    });
    const plugins = await startPlugins([two], onlyOne("two"), surroundings());
    expect(plugins.parts).to.deep.equal({ one: 1, two: 2 });
    expect(plugins.all[0]).to.include({ page });
    const broken = definePlugin({
      name: "broken",
      start: () => ({
        finish: () => {
          throw new TypeError("no handlers");
        },
      }),
    });
    const message = await refusal({ two, broken });
    expect(message).to.contain("plugin.broken: did not start: TypeError: no handlers");
    expect(stopped).to.equal(2);
  });

  it("are stopped when the service cannot be built with their parts", async () => {
    let stopped = 0;
    const check = { name: "startup", critical: false, check: () => ({ healthy: true, detail: "" }) };
    const reserved = definePlugin({
      name: "reserved",
      start: () => ({ checks: [check], stop: ["close", () => void (stopped += 1)] as const }),
    });
    expect(await refusal({ reserved })).to.contain("and not startup or shutdown");
    expect(stopped).to.equal(1);
  });

  it("start their background parts after those of the plugins that they need, and stop in reverse order", async () => {
    const order: string[] = [];
    const plugin = (name: string, needs: readonly string[]): AnyPlugin => {
      const stop = (): Promise<void> => (order.push(`stop ${name}`), Promise.resolve());
      return definePlugin({
        name,
        needs,
        start: () => ({ work: [{ name, start: () => void order.push(`start ${name}`), stop }] }),
      });
    };
    const plugins = { b: plugin("b", ["a"]), a: plugin("a", []), c: plugin("c", ["b"]) };
    const toml = tomlOf(["a", "b", "c"]);
    const made = await createService({ config: { toml }, env: {}, plugins, ...silent });
    await made.start();
    await made.stop();
    expect(order).to.deep.equal(["start a", "start b", "start c", "stop c", "stop b", "stop a"]);
  });

  it("handle only requests to their own routes in a worker", async () => {
    const answers: Middleware = (_req, res) => res.end("page");
    const status: Middleware = (_req, res) => res.end("status");
    const pages = definePlugin({
      name: "pages",
      start: () => ({ page: answers, routes: [{ path: "/status", handler: status }] }),
    });
    const toml = tomlOf(
      ["database", "queue", "pages"],
      '[plugin.database]\nurl = "postgres://127.0.0.1:1/x"\n',
    );
    const given = { config: { toml }, env: {}, plugins: { pages }, jobs: { clean() {} }, ...silent };
    await using server = await createService(given);
    expect((await request(server.app).get("/anything")).text).to.equal("page");
    await using worker = await createService({ ...given, role: "worker" });
    expect((await request(worker.app).get("/status")).text).to.equal("status");
    expect((await request(worker.app).get("/anything")).status).to.equal(404);
  });

  it("are rejected with the error of the faulty one, even if one stop hook throws and another hangs", async () => {
    const plugin = (name: string, hook: () => Promise<void>): AnyPlugin =>
      definePlugin({ name, start: () => ({ stop: ["close", hook] as const }) });
    const throws = plugin("throws", () => Promise.reject(new Error("cannot stop")));
    const hangs = plugin("hangs", () => new Promise(() => undefined));
    const faulty = definePlugin({ name: "faulty", start: () => ({ edges: [] }) as object });
    const settings = { plugins: ["throws", "hangs", "faulty"], plugin: {} };
    const message = await messageOf(startPlugins([throws, hangs, faulty], settings, surroundings()));
    expect(message).to.contain("plugin.faulty: returned edges").and.to.not.contain("cannot stop");
  });

  it("are rejected when start() hangs, and are stopped if it returns later", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const stopped = Promise.withResolvers<void>();
    const slow = definePlugin({
      name: "slow",
      start: async () => {
        await promise;
        return { stop: ["close", () => stopped.resolve()] as const };
      },
    });
    const message = await messageOf(startPlugins([slow], onlyOne("slow"), surroundings()));
    expect(message).to.contain("plugin.slow: did not start within 20 ms");
    resolve();
    await stopped.promise;
  });
});

function onlyOne(name: string): Parameters<typeof startPlugins>[1] {
  return { plugins: [name], plugin: {} };
}

/** Returns the inputs of `startPlugins()`, with a time limit of 20 ms for each start and stop phase. */
function surroundings(): PluginSurroundings {
  return {
    service: { profile: "full" },
    codeOf: () => ({}),
    code: { work: { jobs: {} } },
    faults: [],
    hooks: createStopHooks(20, () => undefined),
    startTimeoutMs: 20,
  } as unknown as PluginSurroundings;
}

function messageOf(starting: Promise<unknown>): Promise<string> {
  return starting.then(
    () => "started",
    (error: Error) => error.message,
  );
}

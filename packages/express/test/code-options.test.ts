import { defineTasks } from "@svc/job-table";
import { definePlugin } from "@svc/plugin";
import { defineOptions, fault, func, listOf, oneOf, optional, string, withDefault } from "@svc/options";
import { createMemoryTokenStore } from "@svc/token-store";
import { expect } from "chai";
import type { RequestHandler } from "express";
import request from "supertest";
import {
  createService,
  type Service,
  type ServiceOptions,
  type ServiceTaskHandlers,
  startService as runService,
} from "@svc/express";
import { refusalOf } from "./support/refusal-of.ts";
import { makeService, startService } from "./support/test-service.ts";

const done = (): void => undefined;

const audit = definePlugin({
  name: "audit",
  options: defineOptions("[plugin.audit]", {
    mode: { key: "mode", kind: withDefault(oneOf("log", "call"), "log") },
    onEntry: { kind: optional(func<(entry: string) => void>()) },
    tags: { kind: withDefault(listOf(string()), []) },
  }).withCheck(({ mode, onEntry, tags }, name) => {
    if ((onEntry !== undefined) === (mode === "call") && tags.length < 3) return [];
    return [fault("onEntry", `does not fit ${name("mode")} = "${mode}" with ${tags.length} tags`)];
  }),
  start: () => ({ parts: { audit: { add: (entry: string) => entry } } }),
});
const strict = definePlugin({
  name: "strict",
  options: defineOptions("[plugin.strict]", { onEntry: { kind: func<(entry: string) => void>() } }),
  start: () => ({}),
});

const tomlOf = (name: string, more = ""): string =>
  `[plugins]\nenabled = ["${name}"]\n[plugin.${name}]\n${more}`;

describe("the options in code of a plugin", () => {
  it("are seen by the check of its options", async () => {
    const plugins = { audit };
    const call = tomlOf("audit", 'mode = "call"');
    expect(await refusalOf({ plugins }, call)).to.contain('does not fit mode = "call" with 0 tags');
    expect(
      await refusalOf({ plugins, audit: { onEntry: done } } as ServiceOptions, tomlOf("audit")),
    ).to.contain('does not fit mode = "log"');
    await using test = await startService({
      plugins,
      ...({ audit: { onEntry: done } } as object),
      toml: call,
    });
    expect((await request(test.url).get("/health")).status).to.equal(200);
  });

  it("are required only if the plugin is enabled", async () => {
    const { service } = await makeService({ plugins: { strict }, toml: "" });
    await service.stop();
    expect(await refusalOf({ plugins: { strict } }, tomlOf("strict"))).to.contain(
      "strict.onEntry: is required",
    );
  });

  it("may be members of a class, but not a promise, a Map or a function", async () => {
    const store = createMemoryTokenStore();
    let reads = 0;
    class AuthOptions {
      get revocation() {
        reads += 1;
        return store;
      }
    }
    const toml = `${tomlOf("auth", 'mode = "secret"\nalgorithms = ["HS256"]')}`;
    const env = { SVC_AUTH_SECRET: "a secret of the tests, 32 bytes or more" };
    const { service } = await makeService({ toml, env, auth: new AuthOptions() });
    expect(reads).to.be.above(0);
    await service.stop();
    for (const [auth, shown] of [
      [Promise.resolve({ revocation: store }), "an object (Promise)"],
      [new Map([["revocation", store]]), "an object (Map)"],
      [() => ({ revocation: store }), "a function"],
    ] as const) {
      const given = { auth: auth as object, env };
      expect(await refusalOf(given, toml))
        .to.match(/auth: must be an object \{ revocation, .*; it is /)
        .and.to.contain(shown);
    }
  });
});

describe("the types of createService() and startService()", () => {
  it("accept middleware and routes of Express as they are written for Express", async () => {
    const tagged: RequestHandler = (_req, res, next) => {
      res.locals["tag"] = "a";
      next();
    };
    await using test = await startService({
      middleware: [tagged],
      routes: (app) => app.get("/tag", (_req, res) => res.json(res.locals["tag"])),
    });
    expect((await request(test.url).get("/tag")).body).to.equal("a");
  });

  it("give handlers of jobs the members of custom plugins and the types of the tasks", () => {
    const tasks = defineTasks<{ "mail.send": { to: string } }>();
    type Own = Service<{ audit: typeof audit }, typeof tasks>;
    const jobs: ServiceTaskHandlers<typeof tasks, Own> = {
      "mail.send": ({ to }, _job, service) => service.audit?.add(to),
    };
    const options = { plugins: { audit }, queue: { tasks }, jobs } satisfies ServiceOptions<
      { audit: typeof audit },
      typeof tasks
    >;
    const start = (): Promise<Own> => runService(options);
    const create = (): Promise<Own> =>
      createService({
        plugins: { audit },
        queue: { tasks },
        jobs: { "mail.send": (_payload, _job, { audit: member }) => member?.add("sent") },
        routes(_app, { jobs: table, audit: member }) {
          member?.add("started");
          // @ts-expect-error -- there is no such task
          void table?.enqueue({ task: "mail.sent", payload: { to: "ann" } });
        },
      });
    expect([start, create]).to.have.length(2);
  });
});

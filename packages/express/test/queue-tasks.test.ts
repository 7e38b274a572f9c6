import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { codeBlocks } from "@svc/test-support";
import { defineTasks, type JobTable } from "@svc/job-table";
import { definePlugin } from "@svc/plugin";
import { expect } from "chai";
import { z } from "zod";
import { createService, type ServiceJobs, type ServiceOptions, type ServiceTaskHandlers } from "@svc/express";
import { refusalOf } from "./support/refusal-of.ts";
import { makeService } from "./support/test-service.ts";

const tasks = defineTasks({
  "order.confirm": z.object({ order: z.string() }),
  "mail.send": z.object({ to: z.string().transform((text) => text.length) }),
});

const toml = (enabled = ""): string => `
[plugins]
enabled = ["database", "queue"${enabled}]
[plugin.database]
url = "postgres://127.0.0.1:1/none"
`;
const silent = { logDestination: { write: () => undefined } };
const confirm = "jobs: has no handler for order.confirm, a task of queue.tasks";
const compilerOptions = {
  noEmit: true,
  strict: true,
  skipLibCheck: true,
  module: "nodenext",
  target: "es2022",
  lib: ["es2023", "esnext.disposable"],
  types: ["node"],
};
const done = (): void => undefined;

describe("createService({ queue: { tasks }, jobs })", function () {
  this.timeout(30_000);

  async function start(options: ServiceOptions, enabled?: string): Promise<void> {
    const { service } = await makeService({ toml: toml(enabled), queue: { tasks }, ...options });
    await service.stop();
  }

  it("rejects a defined task without a handler, and suggests a handler with a similar name", async () => {
    for (const role of ["server", "both"] as const) {
      const jobs = { "order.confrim": done, "mail.send": done };
      expect(await refusalOf({ ...silent, queue: { tasks }, jobs, role }, toml())).to.contain(
        `${confirm}; did you mean order.confrim?`,
      );
    }
    const jobs = { other: done };
    expect(await refusalOf({ ...silent, queue: { tasks }, jobs }, toml()))
      .to.contain(confirm)
      .and.to.contain("jobs: has no handler for mail.send, a task of queue.tasks")
      .and.to.not.contain("did you mean");
  });

  it("accepts more handlers than defined tasks, a handler of a plugin, and a service that only queues jobs", async () => {
    await start({ jobs: { "order.confirm": done, "mail.send": done, "order.confirms": done } });
    await start({});
    const mail = definePlugin({ name: "mail", start: () => ({ handlers: { "mail.send": done } }) });
    await start({ plugins: { mail }, jobs: { "order.confirm": done } } as ServiceOptions, ', "mail"');
  });

  it("types the handlers of all tasks, with payloads as the schemas return them", async () => {
    const jobs: ServiceTaskHandlers<typeof tasks> = {
      "order.confirm": ({ order }, job, { log }) => log.info({ order: order.trim(), job: job.id }),
      "mail.send": ({ to }) => to.toFixed(),
    };
    await start({ jobs: jobs satisfies ServiceJobs });
    const typed = defineTasks<{ "mail.send": { to: string } }>();
    // @ts-expect-error -- the handler of mail.send is missing
    const missing: ServiceTaskHandlers<typeof typed> = {};
    // @ts-expect-error -- the task has another name
    const unknown: ServiceTaskHandlers<typeof typed> = { "mail.send": done, "mail.sent": done };
    const wrong: ServiceTaskHandlers<typeof typed> = {
      // @ts-expect-error -- the payload has no number
      "mail.send": ({ to }: { to: number }) => to,
    };
    expect([missing, unknown, wrong]).to.have.length(3);
  });

  it("types service.jobs by the tasks, also for the routes; without tasks any job is accepted", async () => {
    // The compiler is the test: it must accept this code, and reject each line after @ts-expect-error.
    const types = async (): Promise<unknown> => {
      const { jobs } = await createService({
        queue: { tasks },
        routes: (_app, service) => {
          // @ts-expect-error -- the task has another name
          void service.jobs?.enqueue({ task: "mail.sent", payload: { to: "ann" } });
        },
      });
      // @ts-expect-error -- the payload before the schema has a text
      await jobs?.enqueue({ task: "mail.send", payload: { to: 3 } });
      const known = {
        "mail.monday": { everySeconds: 60, task: "mail.send", payload: { to: "ann" } },
      } as const;
      await createService({ queue: { tasks }, schedules: known });
      const often = { everySeconds: 60, task: "mail.sent" };
      // @ts-expect-error -- the schedule's task has another name
      await createService({ queue: { tasks }, schedules: { often } });
      // @ts-expect-error -- the option has another name
      const untyped = await createService({ queue: {}, jbos: {} });
      await untyped.jobs?.enqueue({ task: "any", payload: 3 });
      const table: JobTable | undefined = jobs;
      return table?.enqueue({ task: "mail.send", payload: { to: "ann" } });
    };
    expect(types).to.be.a("function");
  });

  // The sample compiles against the declarations in dist/, so the packages must be built.
  it("compiles as shown in the README", () => {
    const root = join(import.meta.dirname, "..");
    const sample = codeBlocks(readFileSync(join(root, "README.md"), "utf8"), "ts");
    expect(sample).to.have.length(1);
    const folder = mkdtempSync(join(root, ".readme-types-"));
    try {
      writeFileSync(join(folder, "sample.mts"), sample[0] ?? "");
      const typescript = createRequire(import.meta.url).resolve("typescript/package.json");
      const tsc = join(dirname(typescript), "bin", "tsc");
      writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions }));
      const { stdout } = spawnSync(process.execPath, [tsc, "-p", folder], { encoding: "utf8" });
      expect(stdout).to.equal("");
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

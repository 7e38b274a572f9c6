// The process of one case. The parent asks, this answers, and does nothing in between.
import type { CaseModule, Listening, Subject } from "./subject.ts";

/** What the parent asks. */
export type Order =
  | { readonly order: "prove" }
  | { readonly order: "run"; readonly count: number }
  | { readonly order: "listen" }
  | { readonly order: "cpu" };

/** What it is told: microseconds of CPU time since the order came in, all threads; or since the process began. */
export type Reply = { readonly cpuUs: number } | Listening | { readonly error: string };

const [moduleUrl = "", setting = ""] = process.argv.slice(2);
let subject: Promise<Subject> | undefined;

async function obey(order: Order): Promise<Reply> {
  subject ??= start();
  const ready = await subject;
  switch (order.order) {
    case "prove":
      await ready.prove();
      return { cpuUs: 0 };
    case "run": {
      const before = process.cpuUsage();
      await ready.run(order.count);
      return { cpuUs: microseconds(process.cpuUsage(before)) };
    }
    case "listen":
      if (ready.listen === undefined) throw new Error("it does not listen");
      return ready.listen();
    case "cpu":
      return { cpuUs: microseconds(process.cpuUsage()) };
  }
}

async function start(): Promise<Subject> {
  const module = (await import(moduleUrl)) as CaseModule;
  return module.start(setting);
}

function microseconds({ user, system }: NodeJS.CpuUsage): number {
  return user + system;
}

process.on("message", (order: Order) => {
  obey(order).then(
    (reply) => process.send?.(reply),
    (error: unknown) =>
      process.send?.({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  );
});
process.on("disconnect", () => process.exit());

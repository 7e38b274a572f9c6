// The process of one case. The parent asks, this answers, and does nothing in between.
import type { CaseModule, Listening, Spent, Subject } from "./subject.ts";

/** What the parent asks. */
export type Order =
  | { readonly order: "prove" }
  | { readonly order: "run"; readonly count: number }
  | { readonly order: "listen" }
  | { readonly order: "cpu" };

/**
 * What it is told: microseconds of CPU time, all threads, and of the clock since the order came in; for `cpu` since the
 * process began.
 */
export type Reply = Spent | Listening | { readonly error: string };

const [moduleUrl = "", setting = ""] = process.argv.slice(2);
let subject: Promise<Subject> | undefined;

async function obey(order: Order): Promise<Reply> {
  subject ??= start();
  const ready = await subject;
  switch (order.order) {
    case "prove":
      await ready.prove();
      return { cpuUs: 0, wallUs: 0 };
    case "run": {
      const begun = performance.now();
      const before = process.cpuUsage();
      await ready.run(order.count);
      const cpuUs = microseconds(process.cpuUsage(before));
      return { cpuUs, wallUs: (performance.now() - begun) * 1000 };
    }
    case "listen":
      if (ready.listen === undefined) throw new Error("it does not listen");
      return ready.listen();
    case "cpu":
      return { cpuUs: microseconds(process.cpuUsage()), wallUs: process.uptime() * 1e6 };
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

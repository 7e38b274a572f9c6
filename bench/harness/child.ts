// The process of one case. It only replies to the parent's requests and is idle in between.
import type { CaseModule, Listening, Spent, Subject } from "./subject.ts";

/** The orders that the parent sends. */
export type Order =
  | { readonly order: "prove" }
  | { readonly order: "run"; readonly count: number }
  | { readonly order: "listen" }
  | { readonly order: "cpu" };

/**
 * The reply to an order: CPU time of all threads and wall-clock time, in microseconds since the order; for `cpu` since
 * the start of the process.
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

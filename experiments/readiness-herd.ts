import { setTimeout as delay } from "node:timers/promises";
import { keepAliveAgent, send } from "./harness/client.ts";
import { asBuilt, type Experiment } from "./harness/experiment.ts";
import { quantile } from "./harness/report.ts";
import { startService } from "./harness/service-process.ts";
import type { ReadinessSettings } from "./services/readiness.ts";

const pollers = 100;
const checkMs = 100;
const reuseMs = 1000;

/** Requests `/ready` from many clients concurrently, and counts how often the check behind it runs. */
export const readinessHerd: Experiment = {
  name: "readiness-herd",
  description: "100 pollers on /ready for 2 s, with a check that takes 100 ms: at most 3 probes",
  brokenVariants: ["broken-naive"],
  async run(run, report) {
    const settings: ReadinessSettings = { checkMs, naive: run.variant !== asBuilt };
    await using service = await startService("readiness.ts", settings);
    const agent = keepAliveAgent(pollers);
    const lastMs = (run.seconds ?? 2) * 1000;
    const latencies: number[] = [];
    let bad = 0;
    let lastAnswerMs = 0;
    const started = performance.now();
    const poll = async (pauseMs: number): Promise<void> => {
      while (performance.now() - started < lastMs) {
        const { status, ms } = await send(service.port, "/ready", { agent });
        latencies.push(ms);
        lastAnswerMs = performance.now() - started;
        if (status !== 200) bad += 1;
        // In a short run each poller pauses for 10 ms to 1 s, so that some request is always in flight.
        if (run.quick) await delay(pauseMs);
      }
    };
    await Promise.all(Array.from({ length: pollers }, (_, n) => poll(10 * (n + 1))));
    agent.destroy();
    const probes = await service.ask<number>("probes");
    // A probe runs for `checkMs`, and its result is reused for `reuseMs`; the first probe starts immediately. A stall of
    // the machine prolongs the last round, in which one more probe may run.
    const most = Math.ceil(Math.max(lastMs, lastAnswerMs - checkMs) / (reuseMs + checkMs)) + 1;
    report.figure("as asked", "answers", latencies.length, "count");
    report.figure("as asked", "answers other than 200", bad, "count");
    report.figure("as asked", "probes of the dependency", probes, "count");
    report.figure("as asked", "answer p99", quantile(latencies, 0.99), "ms");
    report.rule(probes <= most, `at most ${most} probes in ${lastMs / 1000} s`);
    report.rule(bad === 0, "every response is 200");
  },
};

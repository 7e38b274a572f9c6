import { jobMetrics } from "@svc/metrics";
import { expect } from "chai";
import { Registry } from "prom-client";

describe("jobMetrics", () => {
  it("counts a worker's events by task, and events of unlisted tasks as <unknown>", async () => {
    const registry = new Registry();
    const count = jobMetrics({ registry, tasks: ["mail.send"], running: () => 3 });
    const job = { task: "mail.send", waitedMs: 20 };
    const stranger = { task: `x-${"y".repeat(50)}`, waitedMs: 0 };
    count({ type: "claimed", jobs: [job, stranger] });
    count({ type: "done", job, durationMs: 40 });
    count({ type: "failed", job, durationMs: 2000 });
    count({ type: "dead", job: stranger, durationMs: 0 });
    count({ type: "released", job });
    count({ type: "lease_lost", job });
    count({ type: "depth", stats: { pending: 5, running: 1, dead: 2 } });
    count({ type: "fault" });
    const text = await registry.metrics();
    expect(text.match(/^(?:jobs|queue)_\w+(?:\{.*\})? .*$/gm)).to.deep.equal([
      'jobs_total{task="mail.send",outcome="done"} 1',
      'jobs_total{task="mail.send",outcome="failed"} 1',
      'jobs_total{task="<unknown>",outcome="dead"} 1',
      'jobs_total{task="mail.send",outcome="released"} 1',
      'jobs_total{task="mail.send",outcome="lease_lost"} 1',
      "jobs_in_progress 3",
      'queue_jobs{status="pending"} 5',
      'queue_jobs{status="running"} 1',
      'queue_jobs{status="dead"} 2',
      "queue_faults_total 1",
    ]);
    expect(text)
      .to.contain('job_duration_seconds_sum{task="mail.send"} 2.04')
      .and.to.contain('job_wait_seconds_count{task="mail.send"} 1')
      .and.not.to.contain("yyy");
  });

  it("omits only jobs_in_progress when running() throws or does not return a number", async () => {
    const wrong: readonly (() => unknown)[] = [
      () => {
        throw new Error("a bug");
      },
      () => Promise.reject(new Error("a bug")),
      () => undefined,
    ];
    for (const running of wrong) {
      const registry = new Registry();
      let isWrong = false;
      jobMetrics({ registry, tasks: [], running: () => (isWrong ? (running() as number) : 3) });
      expect(await registry.metrics()).to.match(/^jobs_in_progress 3$/m);
      isWrong = true;
      expect(await registry.metrics())
        .to.match(/^queue_faults_total 0$/m)
        .and.not.to.match(/^jobs_in_progress \d/m);
    }
  });

  it("rejects a registry that already counts jobs, and unknown options", () => {
    const registry = new Registry();
    jobMetrics({ registry, tasks: [] });
    expect(() => jobMetrics({ registry, tasks: [] })).to.throw("already has jobs_total");
    expect(() => jobMetrics({ registry, task: [] } as never)).to.throw(/tasks: is required|task: is unknown/);
  });
});

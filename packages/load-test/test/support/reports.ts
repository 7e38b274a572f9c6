import type { LoadReport, StepReport } from "@svc/load-test";

/** Returns the report of a successful step, with the given members replaced. */
export function stepReport(members: Partial<StepReport> = {}): StepReport {
  return {
    clients: 4,
    loop: "closed",
    seconds: 10,
    requests: 20_000,
    requestsPerSecond: 2000,
    latencyUs: { p50: 480, p95: 1500, p99: 12_300, max: 812_000 },
    statuses: { 200: 20_000 },
    successes: 20_000,
    others: 0,
    errors: { serverErrors: 0, tooManyRequests: 0, refused: 0, reset: 0, timeout: 0, badAnswer: 0 },
    errorRate: 0,
    unsent: 0,
    generatorCpu: 31,
    readiness: { failure: null, notOk: [] },
    broken: [],
    isInterrupted: false,
    ...members,
  };
}

/** Returns the report of a run with one successful step, with the given members replaced. */
export function loadReport(members: Partial<LoadReport> = {}): LoadReport {
  return {
    url: "http://localhost:8000",
    startedAt: "2026-01-02T03:04:05.000Z",
    loop: "closed",
    rate: null,
    secondsPerStep: 10,
    warmUpSeconds: 1,
    timeoutSeconds: 10,
    maxP99Ms: 500,
    maxErrorRate: 1,
    routes: ["GET /items"],
    skipped: [],
    withoutDescription: null,
    steps: [stepReport()],
    saturatedAt: null,
    brokeAt: null,
    isInterrupted: false,
    ...members,
  };
}

export { LoadTestError, type LoadTestErrorCode } from "./errors.ts";
export { htmlReport } from "./html-report.ts";
export { loadTest } from "./load-test.ts";
export type { LoadTestOptions, Progress } from "./options.ts";
export type { Check, Errors, Latency, LoadReport, Readiness, Skipped, StepReport } from "./report.ts";
export { type CommandIo, run } from "./run.ts";
export { textReport } from "./text-report.ts";

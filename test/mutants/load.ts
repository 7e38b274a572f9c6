import type { Mutants } from "./mutant.ts";

/** Mutants of the rules on the load-test command. */
export const load: Mutants = {
  "LOAD-1": {
    file: "packages/load-test/src/examples.ts",
    find: "({ default: preset }) => preset",
    replace: "() => undefined",
  },
  "LOAD-2": {
    file: "packages/load-test/src/k6-script.ts",
    find: "path: hideToken(path, token)",
    replace: "path",
  },
  "LOAD-3": {
    file: "packages/load-test/src/verdict.ts",
    find: "p99Ms > maxP99Ms ?",
    replace: "p99Ms > maxP99Ms * 2 ?",
  },
  "LOAD-4": {
    file: "packages/load-test/src/verdict.ts",
    find: "next.requestsPerSecond * 10 < step.requestsPerSecond * 11",
    replace: "next.requestsPerSecond < step.requestsPerSecond",
  },
  "LOAD-5": {
    file: "packages/load-test/src/readiness.ts",
    find: 'status === "ok" : healthy === true',
    replace: 'status === "ok" : true',
  },
  "LOAD-6": {
    file: "packages/load-test/src/run-step.ts",
    find: "sum(500, 600)",
    replace: "sum(400, 600)",
  },
};

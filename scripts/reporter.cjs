// Prints one line for each package when its last file has run, and failures immediately; at the end writes the counts, the
// skipped tests with their reasons and the time of each file as one line of JSON for test.mjs.
const { appendFileSync } = require("node:fs");
const { relative } = require("node:path");
const { reporters, Runner } = require("mocha");
const { countsOf, packageOf } = require("./test-summary.mjs");

module.exports = class Reporter extends reporters.Base {
  constructor(runner, options) {
    super(runner, options);
    /** Milliseconds after which a line is printed even if no package has ended. */
    const silentMs = Number(options?.reporterOptions?.silentMs ?? 15_000);
    const { SVC_TEST_COUNTS, SVC_TEST_STARTED = String(Date.now()), SVC_TEST_FILES = "{}" } = process.env;
    /** The number of files of each package, which test.mjs passes. */
    const expected = new Map(Object.entries(JSON.parse(SVC_TEST_FILES)));
    const total = [...expected.values()].reduce((sum, count) => sum + count, 0);
    const files = new Map();
    const skipped = [];
    let ended = 0;
    let printedAt = Date.now();

    function print(text) {
      printedAt = Date.now();
      const seconds = Math.round((printedAt - Number(SVC_TEST_STARTED)) / 1000);
      console.log(`${String(seconds).padStart(4)} s  ${text}`);
    }

    let current;
    /**
     * Returns the counts of the file of a test or hook. All events of a parallel file come in one turn, when the file
     * has ended.
     */
    function fileOf({ file }) {
      const name = relative(process.cwd(), file ?? "unknown").replaceAll("\\", "/");
      let found = files.get(name);
      if (found === undefined) {
        found = { file: name, package: packageOf(name), passes: 0, failures: 0, pending: 0, ms: 0 };
        files.set(name, found);
        if (runner.isParallelMode?.()) setImmediate(() => end(found));
        else if (current !== undefined) end(current);
        current = found;
      }
      return found;
    }

    function end(file) {
      ended += 1;
      const left = (expected.get(file.package) ?? 0) - 1;
      expected.set(file.package, left);
      if (left === 0)
        print(
          `${file.package}: ${countsOf([...files.values()].filter((each) => each.package === file.package))}`,
        );
    }

    const heartbeat = setInterval(() => {
      if (Date.now() - printedAt < silentMs) return;
      const waiting = [...expected].filter(([, left]) => left > 0).map(([name]) => name);
      print(
        `${ended} of ${total} files; waiting for ${waiting.slice(0, 5).join(", ")}${waiting.length > 5 ? ", ..." : ""}`,
      );
    }, silentMs / 15).unref();

    const { EVENT_HOOK_END, EVENT_RUN_END, EVENT_TEST_FAIL, EVENT_TEST_PASS, EVENT_TEST_PENDING } =
      Runner.constants;
    runner.on(EVENT_TEST_PASS, (test) => {
      const file = fileOf(test);
      file.passes += 1;
      file.ms += test.duration ?? 0;
    });
    runner.on(EVENT_TEST_PENDING, (test) => {
      fileOf(test).pending += 1;
      skipped.push(test.fullTitle());
    });
    runner.on(EVENT_HOOK_END, (hook) => (fileOf(hook).ms += hook.duration ?? 0));
    // A failed hook from another process lacks members without which mocha would not print the list of failures.
    runner.prependListener(EVENT_TEST_FAIL, (test) => {
      if (typeof test.titlePath !== "function") test.titlePath = () => test.$$titlePath ?? [test.title];
    });
    runner.on(EVENT_TEST_FAIL, (test) => {
      const file = fileOf(test);
      file.failures += 1;
      file.ms += test.duration ?? 0;
      print(`FAILED ${file.file}: ${test.titlePath().join(" ")}`);
    });
    runner.once(EVENT_RUN_END, () => {
      clearInterval(heartbeat);
      if (current !== undefined && !runner.isParallelMode?.()) end(current);
      if (this.failures.length > 0) this.epilogue();
      const { passes, failures, pending } = runner.stats;
      const counts = { passes, failures, pending, skipped, files: [...files.values()] };
      if (SVC_TEST_COUNTS !== undefined) appendFileSync(SVC_TEST_COUNTS, `${JSON.stringify(counts)}\n`);
    });
  }
};

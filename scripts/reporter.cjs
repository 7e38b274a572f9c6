// Prints dots; at the end writes the counts and the skipped tests, with their reasons, as one line of JSON for test.mjs.
const { appendFileSync } = require("node:fs");
const { reporters, Runner } = require("mocha");

module.exports = class Reporter extends reporters.Dot {
  constructor(runner, options) {
    super(runner, options);
    const skipped = [];
    runner.on(Runner.constants.EVENT_TEST_PENDING, (test) => skipped.push(test.fullTitle()));
    // A failed hook of another process lacks members that the list of failures needs; without them mocha would print no list.
    runner.prependListener(Runner.constants.EVENT_TEST_FAIL, (test) => {
      if (typeof test.titlePath !== "function") test.titlePath = () => test.$$titlePath ?? [test.title];
    });
    runner.once(Runner.constants.EVENT_RUN_END, () => {
      const { passes, failures, pending } = runner.stats;
      const file = process.env.SVC_TEST_COUNTS;
      if (file !== undefined)
        appendFileSync(file, `${JSON.stringify({ passes, failures, pending, skipped })}\n`);
    });
  }
};

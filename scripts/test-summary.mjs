// Builds the last lines of `npm test`. The title of a skipped suite contains the reason that @svc/dev-services adds.

/** The counts of one mocha and the full titles of its skipped tests, as scripts/reporter.cjs writes them. */
/** @typedef {{ passes: number, failures: number, pending: number, skipped: readonly string[] }} Counts */

/**
 * Returns whether a skipped test makes the run fail: root can install the missing programs, a normal user cannot.
 *
 * @param {{ CI?: string }} env
 * @param {number | undefined} uid of the user, undefined on Windows
 */
export function mustRunAll({ CI }, uid) {
  return CI === "true" && uid === 0;
}

/**
 * @param {readonly Counts[]} all one entry for each mocha that ran
 * @param {{ nothingMayBeSkipped: boolean }} options
 * @returns {{ text: string, failed: boolean }} the lines to print, and whether the counts alone make the run fail
 */
export function summaryOf(all, { nothingMayBeSkipped }) {
  const total = (key) => all.reduce((sum, counts) => sum + counts[key], 0);
  const [passes, failures, pending] = [total("passes"), total("failures"), total("pending")];
  const lines = skippedLines(all.flatMap(({ skipped }) => skipped));
  const isRefused = nothingMayBeSkipped && pending > 0;
  if (isRefused) lines.push(`${pending} tests were skipped; nothing may be skipped by root when CI=true`);
  lines.push(`${passes} passed, ${failures} failed, ${pending} skipped`);
  return { text: lines.join("\n"), failed: isRefused || passes === 0 };
}

/** Returns each reason once with its number of tests and its suites, then the tests without a reason. */
function skippedLines(titles) {
  if (titles.length === 0) return [];
  const reasons = new Map();
  const others = [];
  for (const title of titles) {
    const [before, ...found] = title.split(/ \[skipped: ([^\]]*)\]/);
    if (found.length === 0) others.push(title);
    for (const reason of new Set(found.filter((_, index) => index % 2 === 0))) {
      const tests = reasons.get(reason) ?? { count: 0, suites: new Set() };
      tests.count += 1;
      tests.suites.add(before);
      reasons.set(reason, tests);
    }
  }
  const lines = ["skipped:"];
  for (const [reason, { count, suites }] of reasons)
    lines.push(`  ${numberOf(count)}: ${reason}`, ...[...suites].map((suite) => `    - ${suite}`));
  if (others.length > 0)
    lines.push(
      `  ${numberOf(others.length)} that cannot run on this platform or for this user:`,
      ...others.map((title) => `    - ${title}`),
    );
  return lines;
}

function numberOf(count) {
  return count === 1 ? "1 test" : `${count} tests`;
}

// Builds the last lines of `npm test`. The title of a skipped suite contains the reason that @svc/dev-services adds.

/** The counts and the time of one test file: the sum of its tests and hooks. */
/** @typedef {{ file: string, package: string, passes: number, failures: number, pending: number, ms: number }} TestFile */

/** The counts of one run of mocha and the full titles of its skipped tests, as scripts/reporter.cjs writes them. */
/** @typedef {{ passes: number, failures: number, pending: number, skipped: readonly string[], files: readonly TestFile[] }} Counts */

const SLOWEST = 10;

/**
 * Returns whether a skipped test makes the run fail: root can install the missing programs, but a normal user cannot.
 *
 * @param {{ CI?: string }} env
 * @param {number | undefined} uid of the user, undefined on Windows
 */
export function mustRunAll({ CI }, uid) {
  return CI === "true" && uid === 0;
}

/**
 * @param {readonly Counts[]} all one entry for each run of mocha
 * @param {{ nothingMayBeSkipped: boolean }} options
 * @returns {{ text: string, failed: boolean }} the lines to print, and whether the counts alone make the run fail
 */
export function summaryOf(all, { nothingMayBeSkipped }) {
  const total = (key) => all.reduce((sum, counts) => sum + counts[key], 0);
  const [passes, failures, pending] = [total("passes"), total("failures"), total("pending")];
  const files = all.flatMap((counts) => counts.files);
  const lines = [
    ...slowestLines(files),
    ...tableLines(files),
    ...skippedLines(all.flatMap(({ skipped }) => skipped)),
  ];
  const isRefused = nothingMayBeSkipped && pending > 0;
  if (isRefused) lines.push(`${pending} tests were skipped; root must not skip tests when CI=true`);
  lines.push(`${passes} passed, ${failures} failed, ${pending} skipped`);
  return { text: lines.join("\n"), failed: isRefused || passes === 0 };
}

/**
 * Returns the package of a test file.
 *
 * @param {string} file relative to the root, for example "packages/cache/test/cache.test.ts"
 */
export function packageOf(file) {
  const [folder, name] = file.split("/");
  return folder === "packages" || folder === "examples" ? `${folder}/${name}` : folder;
}

/** @param {readonly TestFile[]} files of one package */
export function countsOf(files) {
  const { passes, failures, pending } = sumOf(files);
  const words = [
    `${passes} passed`,
    ...(failures > 0 ? [`${failures} FAILED`] : []),
    ...(pending > 0 ? [`${pending} skipped`] : []),
  ];
  return `${words.join(", ")} in ${files.length} ${files.length === 1 ? "file" : "files"}`;
}

function sumOf(files) {
  const sum = { passes: 0, failures: 0, pending: 0, ms: 0 };
  for (const file of files) for (const key of Object.keys(sum)) sum[key] += file[key];
  return sum;
}

function slowestLines(files) {
  const slowest = files.toSorted((a, b) => b.ms - a.ms).slice(0, SLOWEST);
  if (slowest.length === 0) return [];
  return ["slowest files:", ...slowest.map(({ file, ms }) => `  ${secondsOf(ms).padStart(6)} s  ${file}`)];
}

function tableLines(files) {
  // A worker of mocha that ran no test reports a file with zero counts.
  const counted = files.filter(({ passes, failures, pending }) => passes + failures + pending > 0);
  const packages = [...Map.groupBy(counted, (file) => file.package)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  if (packages.length === 0) return [];
  const rows = packages.map(([name, ofPackage]) => {
    const { passes, failures, pending, ms } = sumOf(ofPackage);
    return [name, passes, failures, pending, secondsOf(ms)].map(String);
  });
  const width = Math.max(...rows.map(([name]) => name.length));
  return [["package", "passed", "failed", "skipped", "seconds"], ...rows].map(
    ([name, ...cells]) => `${name.padEnd(width)}${cells.map((cell) => cell.padStart(9)).join("")}`,
  );
}

function secondsOf(ms) {
  return (ms / 1000).toFixed(1);
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

// `npm run test:prism`: runs the example's whole test suite, and replays every request to the example, with its response,
// through Prism's validating proxy. Exits with 1 for a violation, a failed test, or an empty run.
//
//   npm run test:prism                       all test files of the example
//   npm run test:prism -- test/a.test.ts     some of them
//   npm run test:prism -- --keep FOLDER      keeps the recorded exchanges; --recorded FOLDER checks them again
//
// The tests do not run through the proxy itself, because Prism changes what it forwards: it follows redirects, replaces
// `Host`, and parses and rewrites bodies, so sign-in and tenants by host name cannot work behind it. Instead, the processes
// of the tests record their requests and responses (record-exchanges.ts). Afterwards each request is sent through the
// proxy, in front of a server that responds with the recorded response.
//
// The proxy runs without `--errors`, because with it Prism itself answers requests that tests make invalid on purpose, and
// never sees the service's response. Without it, Prism reports everything in `sl-violations`, and this script is stricter
// than `--errors`: an undeclared 4xx or 5xx, for Prism only a warning, also fails.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createJudgement } from "./judgement.ts";
import { readRecorded } from "./recorded-files.ts";
import { replayThroughPrism } from "./replay.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const recorder = new URL("record-exchanges.ts", import.meta.url).href;

/** This test file checks deadlines of one second, so it runs alone, as in `npm test`. */
const MEASURED = "examples/full-service/test/test-mode.test.ts";

const { values, positionals } = parseArgs({
  options: { keep: { type: "string" }, recorded: { type: "string" } },
  allowPositionals: true,
});

const temporary = mkdtempSync(join(tmpdir(), "svc-prism-"));
try {
  const folder = values.recorded ?? values.keep ?? temporary;
  mkdirSync(folder, { recursive: true });
  const passed = values.recorded !== undefined || (await runTests(folder, positionals));
  const { documents, skipped } = readRecorded(folder);
  const judgement = createJudgement();
  for (const { document, exchanges } of documents) {
    await replayThroughPrism({ document, exchanges, folder: temporary, judge: judgement.add });
  }
  process.stdout.write(judgement.report({ documents: documents.length, skipped }));
  if (!passed) process.stdout.write("FAILED: the tests failed\n");
  process.exitCode = passed && judgement.isClean() ? 0 : 1;
} finally {
  rmSync(temporary, { recursive: true, force: true });
}

/** Runs the tests with the recorder in each of their processes. */
async function runTests(folder: string, files: readonly string[]): Promise<boolean> {
  const named = files.map((file) => (file.startsWith("test/") ? `examples/full-service/${file}` : file));
  const all = globSync("examples/full-service/test/{,browser/}*.test.ts", { cwd: root, exclude: [MEASURED] });
  const groups = named.length > 0 ? [named] : [["--parallel", "--jobs", "3", ...all], [MEASURED]];
  const env = {
    ...process.env,
    RECORD_EXCHANGES: folder,
    NODE_OPTIONS: `${process.env["NODE_OPTIONS"] ?? ""} --import=${recorder}`,
  };
  let passed = true;
  for (const args of groups) {
    const child = spawn("npx", ["mocha", ...args], { cwd: root, stdio: "inherit", env });
    const [code] = (await once(child, "close")) as [number | null];
    if (code !== 0) passed = false;
  }
  return passed;
}

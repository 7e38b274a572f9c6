import { globSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { expect } from "chai";

const root = join(import.meta.dirname, "..");

/** Matches a call that starts a server. */
const STARTS = /(?<![.\w])(?:start|open)(?:Test)?(?:Redis|RedisCluster|Nats|PgBouncer|Nginx|Httpbin)\(/;
/** Matches calls of the helpers that scripts/ci-normal-user.sh lists. */
const HELPERS = new RegExp(
  `(?<![.\\w])(?:${/^helpers='(.*)'$/m.exec(read("scripts/ci-normal-user.sh"))?.[1]})\\(`,
);

function filesOf(patterns: readonly string[]): readonly string[] {
  const exclude = (path: string): boolean => /(?:^|[\\/])(?:node_modules|dist)$/.test(path);
  const found = globSync(patterns, { cwd: root, exclude });
  return found.map((file) => file.replaceAll(sep, "/")).toSorted();
}

function read(file: string): string {
  return readFileSync(join(root, file), "utf8");
}

describe("tests that start a server", () => {
  it("are in a describe that is skipped when the server is missing", () => {
    const tests = filesOf([
      "{packages,examples}/*/test/**/*.ts",
      "{bench,experiments}/test/**/*.ts",
      "test/*.ts",
    ]);
    // Exclude the child process of a test, and the tests of the error for a missing server.
    const exempt = [
      "packages/dev-services/test/support/holder.ts",
      "packages/dev-services/test/ladder.test.ts",
    ];
    const starting = tests.filter((file) => STARTS.test(read(file)) && !exempt.includes(file));
    expect(starting).to.have.length.above(5);
    expect(starting.filter((file) => !HELPERS.test(read(file)))).to.deep.equal([]);
  });

  it("are in a describe that is skipped when the server is missing, even when an experiment starts the server", () => {
    const experiments = filesOf(["experiments/*.ts"]).filter((file) => STARTS.test(read(file)));
    expect(experiments).to.have.length.above(2);
    const tests = experiments.map((file) =>
      file.replace(/^experiments\/(.*)\.ts$/, "experiments/test/$1.test.ts"),
    );
    expect(tests.filter((file) => !HELPERS.test(read(file)))).to.deep.equal([]);
  });

  it("start server programs only through the helpers, not by name", () => {
    const names =
      /(?:spawn|spawnSync|execFile|execFileSync)\(\s*["'](?:redis-|valkey-|nats-|pgbouncer|promtool|chrom|python|psql|nginx|haproxy)/;
    const all = filesOf(["{packages,examples}/*/{src,test}/**/*.ts", "{bench,experiments,test}/**/*.ts"]);
    expect(all.filter((file) => names.test(read(file)))).to.deep.equal([]);
  });
});

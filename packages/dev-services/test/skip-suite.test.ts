import { expect } from "chai";
import { runMocha } from "./support/mocha.ts";

const absent = `{ title: "Nothing", files: ["svc-no-such-server"], package: "svc-no-such-package" }`;
const reason =
  "no Nothing (installed: svc-no-such-server is not on PATH or in /usr/local/sbin, /usr/sbin, /sbin, /usr/lib/postgresql/*/bin); " +
  "install svc-no-such-package (Debian: apt-get install svc-no-such-package)";
const header = `import { testDatabase, testPostgresServer, testProgram } from "${import.meta.resolve("@svc/dev-services")}";\n`;

/** A suite whose hooks print their names, before and after the call of testProgram() and in nested describes. */
const suite = `${header}
const hook = (name) => () => console.log("hook ran: " + name);
describe("outer", () => {
  before(hook("outer before"));
  describe("needs a server", () => {
    before(hook("before, above"));
    after(hook("after, above"));
    const database = testDatabase();
    describe("inner, above", () => {
      before(hook("inner before"));
      after(hook("inner after"));
      it("two", hook("test two"));
    });
    it("one", hook("test one"));
    testProgram(${absent});
    before(hook("before, below"));
    beforeEach(hook("beforeEach"));
    afterEach(hook("afterEach"));
    after(hook("after, below"));
    describe("inner, below", () => {
      before(hook("inner before"));
      it("three", hook("test three"));
    });
  });
  it("four", () => undefined);
});
`;

describe("testProgram() when the program is missing", function () {
  this.timeout(60_000);

  for (const isParallel of [false, true]) {
    it(`skips the whole describe, names the package to install and runs none of its hooks (${isParallel ? "in worker processes" : "in one process"})`, () => {
      const { status, passes, failures, skipped, output } = runMocha(suite, { isParallel });
      expect({ status, passes, failures }).to.deep.equal({ status: 0, passes: 1, failures: 0 });
      expect(skipped).to.have.members([
        `outer needs a server [skipped: ${reason}] one`,
        `outer needs a server [skipped: ${reason}] inner, above two`,
        `outer needs a server [skipped: ${reason}] inner, below three`,
      ]);
      expect(output.match(/hook ran: .*/g)).to.deep.equal(["hook ran: outer before"]);
    });
  }

  it("prints the reason immediately when it does not run under npm test", () => {
    const { output } = runMocha(suite, { isCounted: false });
    expect(output).to.contain(`outer needs a server [skipped: ${reason}]\n`);
  });

  it("names both missing programs for a describe that needs two programs", () => {
    const second = absent.replaceAll("no-such", "no-other").replace("Nothing", "Naught");
    const source = `${header}
describe("two", () => {
  testProgram(${absent});
  testProgram(${second});
  it("is skipped", () => undefined);
});`;
    const { skipped } = runMocha(source);
    expect(skipped).to.have.length(1);
    expect(skipped[0]).to.match(/no-such-package\)\] \[skipped: .*svc-no-other-package\)\] is skipped$/);
  });

  it("throws outside a describe, where it would skip tests in other files", () => {
    const source = `${header}testProgram(${absent});\nit("passes", () => undefined);`;
    const { status, output } = runMocha(source, { isCounted: false });
    expect(status).to.not.equal(0);
    expect(output).to.contain("testProgram() can be called only inside of a describe");
  });
});

describe("testPostgresServer() when PostgreSQL is not installed", function () {
  this.timeout(60_000);

  it("skips the whole describe and runs none of its hooks", () => {
    const source = `${header}
describe("a server", () => {
  before(() => console.log("hook ran"));
  const postgres = testPostgresServer({ only: "system", env: { PATH: "" }, installedUnder: "/nonexistent" });
  after(() => postgres.url);
  it("answers", () => undefined);
});`;
    const { failures, skipped, output } = runMocha(source);
    expect(failures).to.equal(0);
    expect(skipped).to.have.length(1);
    expect(skipped[0]).to.match(
      /^a server \[skipped: no PostgreSQL .*; npm install --include=optional, or install/,
    );
    expect(output).to.not.contain("hook ran");
  });
});

describe("testProgram() when the program exists", function () {
  this.timeout(60_000);

  it("runs the hooks and tests of the describe and keeps its title", () => {
    const source = `${header}
describe("shell", () => {
  before(() => console.log("hook ran"));
  const shell = testProgram({ title: "a shell", files: ["sh"], package: "dash" });
  it("runs", function () { console.log(shell.path, this.test.fullTitle()); });
});`;
    const { passes, pending, output } = runMocha(source);
    expect({ passes, pending }).to.deep.equal({ passes: 1, pending: 0 });
    expect(output)
      .to.contain("hook ran")
      .and.to.match(/\/sh shell runs\s/);
  });
});

import { execFileSync, spawnSync } from "node:child_process";
import { globSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";

interface Manifest {
  readonly name: string;
  readonly type: string;
  readonly private?: boolean;
  readonly repository?: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly publishConfig?: { readonly provenance: boolean };
}

interface ReleaseCopy {
  readonly copyForRelease: (
    work: string,
    registry: { readonly url: string; readonly token: string },
  ) => string;
  readonly commitAll: (folder: string, subject: string) => void;
}

const root = join(import.meta.dirname, "..");

describe("the applications of test/registry", () => {
  const applications = readdirSync(join(root, "test/registry"));

  it("are an ES module on Express 5, CommonJS on Express 4, Connect, and bare node:http", () => {
    const kinds = applications.map((name) => {
      const { type, dependencies } = manifestOf(`test/registry/${name}`);
      const [other = ["none"]] = Object.entries(dependencies).filter(([each]) => !each.startsWith("@svc/"));
      return [name, type, ...other].join(" ");
    });
    expect(kinds).to.deep.equal([
      "commonjs-express4 commonjs express ^4.21.0",
      "connect module connect ^3.7.0",
      "esm-express5 module express ^5.1.0",
      "node-http module none",
    ]);
  });

  for (const name of applications)
    it(`${name} lists exactly the packages that it loads, in any version`, () => {
      const sources = globSync("*.js", { cwd: join(root, "test/registry", name) }).map((file) =>
        readFileSync(join(root, "test/registry", name, file), "utf8"),
      );
      const loaded = sources.flatMap((source) =>
        [...source.matchAll(/(?:from |require\()"(@svc\/[\w-]+)/g)].map(([, each]) => each),
      );
      const own = Object.entries(manifestOf(`test/registry/${name}`).dependencies).filter(([each]) =>
        each.startsWith("@svc/"),
      );
      expect(own.map(([each]) => each)).to.have.members([...new Set(loaded)]);
      for (const [each, range] of own) {
        expect(range).to.equal("*");
        expect(manifestOf(`packages/${each.slice("@svc/".length)}`).private, each).to.equal(undefined);
      }
    });

  it("are listed in the error for an unknown name", () => {
    const args = [join(root, "scripts/test-registry.mjs"), "express6"];
    const { status, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
    expect(stderr).to.equal(`no such application: express6; test/registry has ${applications.join(", ")}\n`);
    expect(status).to.equal(2);
  });
});

describe("the copy in which test:registry rehearses a release", function () {
  this.timeout(60_000);
  let work: string;
  before(() => {
    work = mkdtempSync(join(tmpdir(), "svc-registry-"));
  });
  after(() => rmSync(work, { recursive: true, force: true }));

  it("has a repository, no provenance, its own packages, and all files committed and pushed", async () => {
    const { copyForRelease, commitAll } = (await import(
      new URL("../scripts/release-copy.mjs", import.meta.url).href
    )) as ReleaseCopy;
    const folder = copyForRelease(work, { url: "http://127.0.0.1:1/", token: "secret" });
    commitAll(folder, "chore: prepare the release");

    expect(manifestOf(".", folder).repository).to.match(/^https:/);
    expect(manifestOf("packages/sql", folder).publishConfig).to.include({ provenance: false });
    expect(readFileSync(join(folder, ".npmrc"), "utf8")).to.match(
      /^\/\/127\.0\.0\.1:1\/:_authToken=secret$/m,
    );
    expect(readlinkSync(join(folder, "node_modules/@svc/sql"))).to.match(/^\.\..*packages.sql.?$/);
    const git = (...args: string[]) => execFileSync("git", args, { cwd: folder, encoding: "utf8" });
    expect(git("status", "--porcelain")).to.equal("");
    expect(git("rev-parse", "origin/main")).to.equal(git("rev-parse", "HEAD"));
  });
});

function manifestOf(folder: string, within = root): Manifest {
  return JSON.parse(readFileSync(join(within, folder, "package.json"), "utf8")) as Manifest;
}

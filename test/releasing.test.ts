import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";

const root = join(import.meta.dirname, "..");
const keywords = ["one", "two", "three"];
const exported = { ".": { types: "./dist/index.d.ts", default: "./dist/index.js" } };
const repository = "https://git.example/owner/name";

describe("a release", function () {
  this.timeout(30_000);
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "svc-release-"));
    mkdirSync(join(folder, "scripts"));
    for (const name of ["manifests", "check-tags", "workspace"])
      cpSync(join(root, `scripts/${name}.mjs`), join(folder, `scripts/${name}.mjs`));
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "junction");
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it("checks the manifests before both lerna commands, and publishes only tagged versions", () => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;
    const check = "node scripts/manifests.mjs --release --check && ";
    expect(scripts.release).to.match(new RegExp(`^${check}npx --yes lerna@[0-9.]+ version$`));
    expect(scripts["release:publish"]).to.match(
      new RegExp(
        `^${check}node scripts/check-tags.mjs && .* && npx --yes lerna@[0-9.]+ publish from-package$`,
      ),
    );
  });

  it("is refused while the root manifest has no repository", () => {
    writeManifests({}, {});
    expect(run("manifests", "--release", "--check")).to.deep.equal({
      status: 1,
      stderr: "package.json: repository is missing: set the https URL of the repository before a release\n",
    });
    expect(run("manifests", "--check").status).to.equal(0);
  });

  for (const wrong of ["git@git.example:owner/name.git", `${repository}.git`, "https://git.example/"])
    it(`is refused with the repository ${wrong}`, () => {
      writeManifests({ repository: wrong }, {});
      const { status, stderr } = run("manifests", "--release", "--check");
      expect(status).to.equal(1);
      expect(stderr).to.include("repository must be an https URL without .git");
    });

  it("takes repository, homepage, bugs and funding of every package from the root manifest", () => {
    writeManifests({ repository, funding: "https://fund.example/us" }, {});
    expect(run("manifests", "--release", "--check").stderr).to.equal(
      "packages/one/package.json: run node scripts/manifests.mjs\n",
    );
    expect(run("manifests").status).to.equal(0);
    expect(JSON.parse(readFileSync(join(folder, "packages/one/package.json"), "utf8"))).to.include({
      homepage: `${repository}/tree/main/packages/one#readme`,
      bugs: `${repository}/issues`,
      funding: "https://fund.example/us",
    });
    expect(JSON.parse(readFileSync(join(folder, "packages/one/package.json"), "utf8")))
      .to.have.property("repository")
      .that.deep.equals({ type: "git", url: `git+${repository}.git`, directory: "packages/one" });
    expect(run("manifests", "--release", "--check")).to.deep.equal({ status: 0, stderr: "" });
  });

  it("leaves no funding in a package if the root manifest has none", () => {
    writeManifests({ repository }, { funding: "https://fund.example/old" });
    expect(run("manifests").status).to.equal(0);
    expect(readFileSync(join(folder, "packages/one/package.json"), "utf8")).not.to.include("funding");
  });

  it("is refused with funding that is not an https URL", () => {
    writeManifests({ repository, funding: { type: "individual" } }, {});
    expect(run("manifests", "--check")).to.deep.equal({
      status: 1,
      stderr: "package.json: funding must be an https URL\n",
    });
  });

  for (const [what, dependencies] of [
    ["dependency", { dependencies: { "@types/pg": "^8.0.0" } }],
    ["required peer dependency", { peerDependencies: { "@types/pg": "^8.0.0" } }],
  ] as const)
    it(`is refused if a package has types as a ${what}`, () => {
      writeManifests({}, dependencies);
      const { status, stderr } = run("manifests", "--check");
      expect(status).to.equal(1);
      expect(stderr).to.include(
        "packages/one/package.json: @types/pg must not be a dependency; make it an optional peer dependency",
      );
    });

  it("accepts types as an optional peer dependency", () => {
    const optional = { "@types/pg": { optional: true } };
    writeManifests({}, { peerDependencies: { "@types/pg": "^8.0.0" }, peerDependenciesMeta: optional });
    expect(run("manifests").stderr).to.equal("");
  });

  for (const [what, range, devDependencies] of [
    ["with a range that Lerna would have to change", "^0.1.0", { "@svc/two": "^0.1.0" }],
    ["that is not in devDependencies", ">=0.1.0", {}],
  ] as const)
    it(`is refused if a package has one of our packages as a peer ${what}`, () => {
      writeManifests({}, { peerDependencies: { "@svc/two": range }, devDependencies });
      const { status, stderr } = run("manifests", "--check");
      expect(status).to.equal(1);
      expect(stderr).to.include(
        "packages/one/package.json: the peer @svc/two must have a range such as >=0.1.0, and be in devDependencies too",
      );
    });

  it("does not publish a version without its tag", () => {
    writeManifests({}, {});
    git("init", "--quiet");
    git("add", "packages");
    git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message", "chore: a");
    expect(run("check-tags")).to.deep.equal({
      status: 1,
      stderr: "no tag for @svc/one@0.1.0: run npm run release first, and fetch all tags\n",
    });
    git("tag", "@svc/one@0.1.0");
    expect(run("check-tags")).to.deep.equal({ status: 0, stderr: "" });
  });

  function writeManifests(own: object, ofPackage: object): void {
    writeFileSync(join(folder, "package.json"), JSON.stringify(own));
    mkdirSync(join(folder, "packages/one"), { recursive: true });
    const manifest = {
      name: "@svc/one",
      version: "0.1.0",
      keywords,
      main: "./dist/index.js",
      types: "./dist/index.d.ts",
      exports: exported,
      ...ofPackage,
    };
    writeFileSync(join(folder, "packages/one/package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  }

  function run(name: string, ...args: string[]): { readonly status: number | null; readonly stderr: string } {
    const file = join(folder, `scripts/${name}.mjs`);
    const { status, stderr } = spawnSync(process.execPath, [file, ...args], {
      cwd: folder,
      encoding: "utf8",
    });
    return { status, stderr };
  }

  function git(...args: string[]): void {
    execFileSync("git", args, { cwd: folder });
  }
});

interface Manifest {
  readonly scripts: Readonly<Record<string, string>>;
}

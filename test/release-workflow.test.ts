import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { load } from "js-yaml";

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly if?: string;
  readonly needs?: string;
  readonly environment?: string;
  readonly permissions: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
}

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions: unknown;
  readonly jobs: Readonly<Record<string, Job>>;
}

const root = join(import.meta.dirname, "..");
const text = readFileSync(join(root, ".github/workflows/release.yml"), "utf8");

describe(".github/workflows/release.yml", () => {
  const workflow = load(text) as Workflow;
  const { check, publish } = workflow.jobs;
  const steps = Object.values(workflow.jobs).flatMap((job) => job.steps);

  it("starts on a push to main, never on a pull request", () => {
    expect(workflow.on).to.deep.equal({ push: { branches: ["main"] } });
  });

  it("runs only for the commits that Lerna makes", () => {
    const { command } = JSON.parse(readFileSync(join(root, "lerna.json"), "utf8")) as {
      readonly command: { readonly version: { readonly message: string } };
    };
    expect(check?.if).to.equal(`startsWith(github.event.head_commit.message, '${command.version.message}')`);
  });

  it("publishes only after the checks of .ci/run and a rehearsal", () => {
    expect(check?.steps.slice(-2)).to.deep.equal([{ run: "bash .ci/run" }, { run: "npm run test:registry" }]);
    expect(publish?.needs).to.equal("check");
    expect(publish?.steps.at(-1)?.run).to.match(/\nnpm run release:publish -- --yes\n$/);
  });

  it("grants an id-token only to the publish job, and write access to the repository to no job", () => {
    expect(Object.keys(workflow.jobs)).to.deep.equal(["check", "publish"]);
    expect(workflow.permissions).to.deep.equal({});
    expect(check?.permissions).to.deep.equal({ contents: "read" });
    expect(publish?.permissions).to.deep.equal({ contents: "read", "id-token": "write" });
    expect(publish?.environment).to.equal("npm");
  });

  it("passes the secret only to the step that publishes, and not as text of the command", () => {
    const secret = steps.filter((step) => JSON.stringify(step).includes("secrets."));
    expect(secret).to.deep.equal([publish?.steps.at(-1)]);
    expect(secret[0]?.run).not.to.include("${{");
  });

  it("names every action by its commit, with its version in a comment", () => {
    const uses = text.split("\n").filter((line) => /^\s*(?:- )?uses:/.test(line));
    expect(uses).to.have.length(steps.filter((step) => step.uses !== undefined).length);
    expect(uses).to.have.length.above(0);
    for (const line of uses) expect(line).to.match(/uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  it("fetches all tags and keeps no credentials of the repository", () => {
    for (const step of steps.filter(({ uses }) => uses?.startsWith("actions/checkout@") === true))
      expect(step.with).to.deep.equal({ "fetch-depth": 0, "persist-credentials": false });
  });

  it("contains no URL, so that npm's configuration decides the registry", () => {
    expect(text).not.to.match(/https?:\/\//);
  });
});

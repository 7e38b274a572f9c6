import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { NoServerError, type ProgramName, requireProgram } from "@svc/dev-services";
import { expect } from "chai";
import { programs } from "../src/programs.ts";

const wanted = { title: "The server", files: ["svc-first", "svc-second"], package: "svc-package" };

describe("requireProgram()", () => {
  let folder: string;
  beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "svc-programs-"))));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** Creates an empty executable file. */
  function put(where: string, file: string, mode = 0o755, script = ""): string {
    const path = join(folder, where, file);
    mkdirSync(join(folder, where), { recursive: true });
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, mode);
    return path;
  }
  const pathOf = (...names: readonly string[]): NodeJS.ProcessEnv => ({
    PATH: names.map((name) => join(folder, name)).join(":"),
  });

  it("returns the preferred file even if another one is in an earlier folder on PATH", () => {
    const first = put("b", "svc-first");
    put("a", "svc-second");
    expect(requireProgram(wanted, { env: pathOf("a", "b"), folders: [] })).to.equal(first);
  });

  it("searches PATH, then the given folders in order, the newest version first", () => {
    put("versions/14/bin", "svc-first");
    const newest = put("versions/15/bin", "svc-first");
    const folders = [join(folder, "sbin"), join(folder, "versions/*/bin")];
    expect(requireProgram(wanted, { env: pathOf("a"), folders })).to.equal(newest);
    const inSbin = put("sbin", "svc-first");
    expect(requireProgram(wanted, { env: pathOf("a"), folders })).to.equal(inSbin);
    const onPath = put("a", "svc-second");
    expect(requireProgram(wanted, { env: pathOf("a"), folders })).to.equal(onPath);
  });

  it("skips a file that is not executable", () => {
    put("a", "svc-first", 0o644);
    const second = put("a", "svc-second");
    expect(requireProgram(wanted, { env: pathOf("a"), folders: [] })).to.equal(second);
  });

  it("returns the first Python that has the module, and names the module if none has it", () => {
    const python = { title: "The module", files: ["python3"], module: "svc_module", package: "svc-package" };
    put("a", "python3", 0o755, "exit 1");
    const lookup = { env: pathOf("a", "b"), folders: [] };
    expect(messageOf(() => requireProgram(python, lookup))).to.include(
      "python3 with the module svc_module is not on PATH",
    );
    const second = put("b", "python3", 0o755, '[ "$3" = svc_module ]');
    expect(requireProgram(python, lookup)).to.equal(second);
  });

  it("throws an error that names the missing files, every attempt and the package to install", () => {
    let error: unknown;
    try {
      requireProgram({ ...wanted, unpacked: ["svc-package"] }, { env: { PATH: "" }, folders: [] });
    } catch (thrown) {
      error = thrown;
    }
    expect(error).to.be.instanceOf(NoServerError);
    const { message, summary } = error as NoServerError;
    expect(message.split("\n")).to.deep.equal([
      "No The server could be started or reached:",
      "  - installed: svc-first or svc-second is not on PATH",
      "  - apt-get download svc-package: apt-get is not on PATH",
      "To fix this: install svc-package (Debian: apt-get install svc-package)",
    ]);
    expect(summary).to.equal(
      "no The server (installed: svc-first or svc-second is not on PATH; " +
        "apt-get download svc-package: apt-get is not on PATH); " +
        "install svc-package (Debian: apt-get install svc-package)",
    );
  });

  it("names only Debian packages that scripts/ci-packages.sh lists", () => {
    const list = readFileSync(new URL("../../../scripts/ci-packages.sh", import.meta.url), "utf8");
    for (const name of Object.keys(programs) as ProgramName[]) {
      const lookup = { env: { PATH: "" }, folders: [], cache: join(folder, "cache") };
      const message = messageOf(() => requireProgram(name, lookup));
      const [, debian = ""] = /apt-get install ([\w-]+)\)$/.exec(message) ?? [];
      expect(list, name).to.match(new RegExp(`^  ${debian} `, "m"));
    }
    expect(existsSync(join(folder, "cache"))).to.equal(false);
  });
});

function messageOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("nothing was thrown");
}

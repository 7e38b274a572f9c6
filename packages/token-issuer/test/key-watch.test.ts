import { collectingLogger } from "@svc/test-support";
import { addKey, createKeyRing, promoteKey, writeRing } from "@svc/token-issuer";
import { expect } from "chai";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { eventually, key, refusal, ring, start } from "./support/rings.ts";

describe("a key ring in a file", () => {
  let folder = "";
  let file = "";
  let one = "";
  let two = "";
  let promoted = "";
  const signal = new AbortController().signal;

  before(async () => {
    const first = await ring();
    const second = addKey(first, await key("ES256", 1), start);
    [one, two, promoted] = [first, second, promoteKey(second, start + 120_000)].map(writeRing) as [
      string,
      string,
      string,
    ];
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "svc-keys-"));
    file = join(folder, "keys.json");
    await put(one);
  });
  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  async function put(text: string, mode = 0o600): Promise<void> {
    await writeFile(`${file}.new`, text, { mode });
    await chmod(`${file}.new`, mode);
    await rename(`${file}.new`, file);
  }

  it("is read again on a file system event, long before the next poll", async () => {
    await using keys = createKeyRing({ file, pollSeconds: 30 });
    expect(keys.list()).to.have.length(1);
    await put(two);
    await eventually(
      () => keys.generation,
      (generation) => generation === 1,
    );
    await put(promoted);
    await eventually(
      () => keys.generation,
      (generation) => generation === 2,
    );
    expect(keys.signer().kid).to.equal((await key("ES256", 1)).kid);
  });

  it("is read from the file keys.json of a directory", async () => {
    await using keys = createKeyRing({ file: folder, pollSeconds: 0.02 });
    await put(two);
    await eventually(
      () => keys.generation,
      (generation) => generation === 1,
    );
  });

  it("is read again from a mounted secret whose directory link is swapped", async () => {
    for (const [name, text] of [
      ["a", one],
      ["b", two],
    ] as const) {
      await mkdir(join(folder, name));
      await writeFile(join(folder, name, "keys.json"), text, { mode: 0o400 });
    }
    const mount = join(folder, "mount");
    await symlink(join(folder, "a"), mount);
    await using keys = createKeyRing({ file: mount, pollSeconds: 0.02 });
    await symlink(join(folder, "b"), `${mount}.new`);
    await rename(`${mount}.new`, mount);
    await eventually(
      () => keys.generation,
      (generation) => generation === 1,
    );
  });

  it("keeps the old keys while the file is broken, logs the fault once, reports it in readiness, and recovers", async () => {
    const logger = collectingLogger();
    await using keys = createKeyRing({ file, pollSeconds: 0.02, logger, now: () => start });
    const { kid } = keys.signer();
    const broken = promoted.slice(0, promoted.length / 2);
    await put(broken);
    const warned = await eventually(
      () => logger.at("warn"),
      (found) => found.length > 0,
    );
    expect(warned[0]).to.equal("the signing keys are unchanged, because their file cannot be used");
    expect(await keys.readiness().check(signal)).to.include({
      healthy: false,
      detail:
        "the current key signs with ES256; the changed key file cannot be used, so the previous keys stay in use",
    });
    expect(keys.signer().kid).to.equal(kid);
    await put(promoted);
    await eventually(
      () => keys.signer().kid,
      (found) => found !== kid,
    );
    await eventually(
      () => logger.lines.at(-1)?.message,
      (message) => message?.endsWith("can be used again") === true,
    );
    expect(logger.at("warn")).to.have.length(1);
    expect(await keys.readiness().check(signal)).to.include({ healthy: true });
  });

  it("keeps the old keys while the file is missing or accessible to other users", async () => {
    const logger = collectingLogger();
    await using keys = createKeyRing({ file, pollSeconds: 0.02, logger });
    const warnings = (): number => logger.at("warn").length;
    await rm(file);
    await eventually(warnings, (count) => count === 1);
    await put(two, 0o644);
    await eventually(warnings, (count) => count === 2);
    expect(keys.generation).to.equal(0);
    await chmod(file, 0o600);
    await eventually(
      () => keys.generation,
      (generation) => generation === 1,
    );
  });

  it("logs a change of the keys without showing them", async () => {
    const logger = collectingLogger();
    await using keys = createKeyRing({ file, pollSeconds: 0.02, logger });
    await put(two);
    await eventually(
      () => keys.generation,
      (generation) => generation === 1,
    );
    expect(logger.lines.map(({ level, message }) => [level, message])).to.deep.equal([
      ["info", "the signing keys changed"],
    ]);
  });

  it("stops checking the file after stop()", async () => {
    const stopped = createKeyRing({ file, pollSeconds: 0.02 });
    await using other = createKeyRing({ file, pollSeconds: 0.02 });
    stopped.stop?.();
    await put(two);
    await eventually(
      () => other.generation,
      (generation) => generation === 1,
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(stopped.generation).to.equal(0);
    expect(stopped.signer().kid).to.equal(other.signer().kid);
  });

  it("does not keep the process alive", async () => {
    const program = `
      import { createKeyRing } from "@svc/token-issuer";
      console.log(createKeyRing({ file: ${JSON.stringify(file)} }).signer().algorithm);
    `;
    const args = ["--conditions=@svc/source", "--input-type=module", "--eval", program];
    const child = spawn(process.execPath, args, {
      cwd: fileURLToPath(new URL(".", import.meta.url)),
      stdio: ["ignore", "pipe", "inherit"],
      timeout: 15_000,
    });
    let stdout = "";
    child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
    const [code] = (await once(child, "close")) as [number | null];
    expect([code, stdout]).to.deep.equal([0, "ES256\n"]);
  });

  it("is rejected at startup if the file is missing, broken or too long", async () => {
    refusal(() => createKeyRing({ file: join(folder, "none.json") }), "unreadable");
    refusal(() => createKeyRing({ file: join(folder, "none", "keys.json") }), "unreadable");
    await put("{}");
    refusal(() => createKeyRing({ file }), "broken");
    await put(" ".repeat(1_048_577));
    refusal(() => createKeyRing({ file }), "broken");
  });

  const modes = {
    0o600: true,
    0o400: true,
    0o640: true,
    0o440: true,
    0o644: false,
    0o660: false,
    0o604: false,
    0o602: false,
  };
  for (const [mode, allowed] of Object.entries(modes)) {
    const octal = Number(mode).toString(8).padStart(4, "0");
    it(`${allowed ? "accepts" : "rejects"} a file of mode ${octal}`, async function () {
      if (process.platform === "win32") this.skip();
      await put(one, Number(mode));
      if (!allowed) {
        expect(refusal(() => createKeyRing({ file }), "exposed").message).to.contain(`mode ${octal}`);
        return;
      }
      await using keys = createKeyRing({ file });
      expect(keys.signer().algorithm).to.equal("ES256");
    });
  }
});

import { InvalidUse } from "@svc/cli-options";
import { createVerifier } from "@svc/jwt-auth";
import { createKeyRing, readRing, writeRing } from "@svc/token-issuer";
import { expect } from "chai";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmod,
  chown,
  lstat,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runKeyCommand, svcKeys } from "../src/key-commands.ts";
import { type ProgramEnd, runProgram } from "../src/run-program.ts";
import { claims, key } from "./support/rings.ts";

const program = fileURLToPath(new URL("../src/command-line.ts", import.meta.url));

interface Listing {
  readonly changed: readonly string[];
  readonly keys: readonly { readonly kid: string; readonly state: string; readonly algorithm: string }[];
}

describe("svc-keys", function () {
  this.timeout(60_000);
  let folder = "";
  let file = "";
  const before = process.cwd();
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "svc-keys-"));
    file = join(folder, "keys.json");
    process.chdir(folder);
  });
  afterEach(async () => {
    process.chdir(before);
    await rm(folder, { recursive: true });
  });

  /** Runs the program in a process of its own. */
  async function run(
    ...args: readonly string[]
  ): Promise<Omit<ProgramEnd, "code"> & { code: number | null }> {
    const child = spawn(process.execPath, ["--conditions=@svc/source", program, ...args], {
      cwd: folder,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    const [code] = (await once(child, "close")) as [number | null];
    return { code, stdout, stderr };
  }

  /** Runs the program in this process, which is faster than starting a new process. */
  const inProcess = (...args: readonly string[]): Promise<ProgramEnd> => runProgram(args);

  /** Runs a command in this process, and parses what it prints. */
  async function json(...args: readonly string[]): Promise<Listing> {
    const where = args.includes("--file") ? [] : ["--file", file];
    return JSON.parse(await runKeyCommand([...args, ...where, "--json"], () => Date.now())) as Listing;
  }

  /** Moves all dates of the ring back by the given seconds. */
  async function age(seconds: number): Promise<void> {
    const { lifetimes, keys } = readRing(await readFile(file, "utf8"));
    const back = (time: number | undefined): number | undefined =>
      time === undefined ? undefined : time - seconds * 1000;
    const older = keys.map((each) => ({
      ...each,
      publishedAt: each.publishedAt - seconds * 1000,
      promotedAt: back(each.promotedAt),
      replacedAt: back(each.replacedAt),
    }));
    await writeFile(file, writeRing({ lifetimes, keys: older }));
  }

  it("rotates the keys of a running service (KEY-3)", async () => {
    const first = await json("init", "--algorithm", "ES256");
    await using keys = createKeyRing({ file, pollSeconds: 0.02 });
    const token = await keys.signer().sign(claims(Date.now()));
    const added = await json("add", "--algorithm", "EdDSA");
    expect(added.keys.map(({ state, algorithm }) => [state, algorithm])).to.deep.equal([
      ["current", "ES256"],
      ["next", "EdDSA"],
    ]);
    const early = await run("promote");
    expect(early.code).to.equal(1);
    expect(early.stderr).to.match(
      /^svc-keys: the key .{43} is not known everywhere yet: .* or force the promotion\n$/,
    );
    await age(120);
    const promoted = await json("promote", added.changed[0] ?? "");
    expect(promoted.changed).to.have.members([first.changed[0], added.changed[0]]);
    const needed = await inProcess("retire", first.changed[0] ?? "");
    expect(needed.code).to.equal(1);
    expect(needed.stderr).to.contain("wait, or retire the key immediately");
    expect((await json("retire", "--due")).changed).to.deep.equal([]);
    keys.load(await readFile(file, "utf8"));
    expect(keys.signer().algorithm).to.equal("EdDSA");
    expect(await createVerifier({ keys }).verify(token)).to.have.property("principal");
    await age(30 * 86_400 + 150);
    const retired = await json("retire", "--due");
    expect(retired.changed).to.deep.equal(first.changed);
    expect(retired.keys.map(({ state }) => state)).to.deep.equal(["current", "retired"]);
  });

  it("prints a human-readable table", async () => {
    await inProcess("init", "--algorithm", "ES256");
    const { code, stdout } = await run("add");
    expect(code).to.equal(0);
    const lines = stdout.split("\n");
    expect(lines[0]).to.equal("keys.json is written");
    expect(lines[2]).to.match(/^STATE +ALG +KID +SINCE +THEN$/);
    expect(lines[3]).to.match(/^current +ES256 +[\w-]{43} +\d{4}-\d\d-\d\d \d\d:\d\d \(\d+ s\)$/);
    expect(lines[4]).to.match(
      /^next +ES256 +[\w-]{43} +\d{4}-\d\d-\d\d \d\d:\d\d \(\d+ s\) +promote in \d+ (s|min)$/,
    );
    expect((await inProcess("list")).stdout.split("\n")).to.have.length(4);
    await age(120);
    expect((await inProcess("list")).stdout).to.contain("may be promoted");
    expect((await inProcess("retire", "--due")).stdout).to.contain("nothing to do");
  });

  it("writes a file that only its owner can read, even if --file is a directory, and leaves no other file", async () => {
    await json("init", "--file", folder, "--algorithm", "EdDSA");
    await json("add", "--file", folder);
    expect(await readdir(folder)).to.deep.equal(["keys.json"]);
    if (process.platform !== "win32") expect((await stat(file)).mode & 0o777).to.equal(0o600);
  });

  it("keeps the group's read permission, and replaces the target of a symbolic link", async function () {
    if (process.platform === "win32") this.skip();
    await json("init", "--algorithm", "EdDSA");
    await chmod(file, 0o640);
    await symlink(file, join(folder, "link.json"));
    await json("add", "--file", join(folder, "link.json"));
    expect((await stat(file)).mode & 0o777).to.equal(0o640);
    expect((await lstat(join(folder, "link.json"))).isSymbolicLink()).to.equal(true);
    expect(readRing(await readFile(file, "utf8")).keys).to.have.length(2);
  });

  it("keeps the owner and group of the file when root runs a command", async function () {
    if (process.getuid?.() !== 0) this.skip();
    await json("init", "--algorithm", "EdDSA");
    await chown(file, 1234, 4321);
    await json("add");
    expect(await stat(file)).to.include({ uid: 1234, gid: 4321 });
  });

  it("never prints a private key or a secret", async () => {
    for (const algorithm of ["RS256", "HS256"]) {
      await rm(file, { force: true });
      const outputs = [
        await inProcess("init", "--algorithm", algorithm),
        await inProcess("add", "--json"),
        await inProcess("list"),
        await inProcess("promote"),
      ];
      const shown = outputs.map(({ stdout, stderr }) => stdout + stderr).join();
      const members = readRing(await readFile(file, "utf8")).keys.flatMap(({ signing }) => {
        const { d, p, k } = signing?.export({ format: "jwk" }) ?? {};
        return [d, p, k].filter((member) => member !== undefined);
      });
      expect(members).to.not.deep.equal([]);
      for (const member of members) expect(shown).to.not.contain(member);
    }
  });

  it("generates RS256 keys of 2,048 bits by default, and of the requested size", async () => {
    await json("init", "--rsa-bits", "3072");
    const { keys } = await json("add");
    expect(keys.map(({ algorithm }) => algorithm)).to.deep.equal(["RS256", "RS256"]);
    const sizes = readRing(await readFile(file, "utf8")).keys.map(
      ({ verifying }) => verifying?.asymmetricKeyDetails?.modulusLength,
    );
    expect(sizes).to.deep.equal([3072, 2048]);
  });

  it("generates a key of the requested algorithm, by default that of the current key", async () => {
    await json("init", "--algorithm", "ES384");
    const { changed: first } = await json("add", "--algorithm", "EdDSA");
    await json("promote", ...first, "--force");
    const { changed, keys } = await json("add");
    expect(first.map((kid) => keys.find((each) => each.kid === kid)?.algorithm)).to.deep.equal(["EdDSA"]);
    expect(changed.map((kid) => keys.find((each) => each.kid === kid)?.algorithm)).to.deep.equal(["EdDSA"]);
  });

  it("imports an existing key, so that its tokens stay valid", async function () {
    const drawn = await key("ES384");
    const pem = drawn.signing?.export({ type: "pkcs8", format: "pem" }).toString() ?? "";
    await writeFile(join(folder, "old.pem"), pem, { mode: 0o600 });
    const { changed } = await json("init", "--from", join(folder, "old.pem"));
    expect(changed).to.deep.equal([drawn.kid]);
    const again = await inProcess("add", "--from", "old.pem");
    expect(again.stderr).to.contain('is already in the ring; its state is "current"');
    await rm(file);
    const secret = "a secret of at least 32 bytes, not in code";
    await writeFile(join(folder, "secret"), `${secret}\n`, { mode: 0o600 });
    expect((await json("init", "--from", join(folder, "secret"))).changed).to.deep.equal([
      createKeyRing({ secret }).signer().kid,
    ]);
    await writeFile(join(folder, "short"), "hunter2", { mode: 0o600 });
    const short = await inProcess("add", "--from", "short");
    expect(short.code).to.equal(1);
    expect(short.stderr).to.contain("at least 32").and.not.contain("hunter2");
    await rm(file);
    const mixed = await inProcess("init", "--from", "old.pem", "--algorithm", "HS256");
    expect(mixed.stderr).to.contain("a PEM").and.not.contain("BEGIN");
  });

  it("stores the token lifetimes in the file", async () => {
    await json(
      "init",
      "--algorithm",
      "EdDSA",
      "--access-seconds",
      "60",
      "--refresh-seconds",
      "3600",
      "--leeway-seconds",
      "0",
    );
    const { lifetimes } = readRing(await readFile(file, "utf8"));
    expect(lifetimes).to.deep.equal({ accessSeconds: 60, refreshSeconds: 3600, leewaySeconds: 0 });
  });

  it("replaces a leaked key immediately with retire --now", async () => {
    const { changed } = await json("init", "--algorithm", "ES256");
    const alone = await inProcess("retire", changed[0] ?? "", "--now");
    expect(alone.code).to.equal(1);
    expect(alone.stderr).to.contain("add another key first");
    await json("add");
    const { keys } = await json("retire", changed[0] ?? "", "--now");
    expect(keys.map(({ state }) => state)).to.deep.equal(["current", "retired"]);
  });

  it("promotes a key before it is due with --force", async () => {
    await json("init", "--algorithm", "ES256");
    await json("add");
    expect((await json("promote", "--force")).changed).to.have.length(2);
  });

  it("accepts a kid that begins with a dash", async () => {
    await json("init", "--algorithm", "HS256");
    const { code, stderr } = await inProcess("retire", `-${"a".repeat(42)}`, "--now");
    expect(code).to.equal(1);
    expect(stderr).to.contain(`the ring has no key "-${"a".repeat(42)}"`);
  });

  it("exits with 1 and a machine-readable reason when a change is rejected", async () => {
    const reasonOf = async (...args: readonly string[]): Promise<unknown> => {
      // `list` runs in a process of its own, to check the exit code.
      const { code, stdout, stderr } = await (args[0] === "list" ? run : inProcess)(...args, "--json");
      expect(code).to.equal(1);
      expect(stdout).to.equal("");
      const refused = JSON.parse(stderr) as { code: string; reason: string };
      expect(refused.code).to.equal("ERR_SVC_KEY_RING");
      return refused.reason;
    };
    expect(await reasonOf("list")).to.equal("unreadable");
    await json("init", "--algorithm", "ES256");
    expect(await reasonOf("init")).to.equal("exists");
    expect(await reasonOf("promote")).to.equal("unknown_key");
    expect(await reasonOf("add", "--algorithm", "HS256")).to.equal("wrong_state");
    await json("add");
    expect(await reasonOf("add")).to.equal("wrong_state");
    expect(await reasonOf("promote")).to.equal("too_early");
    await writeFile(`${file}.lock`, "");
    expect(await reasonOf("promote", "--force")).to.equal("locked");
    await rm(`${file}.lock`);
    if (process.platform !== "win32") {
      await chmod(file, 0o644);
      expect(await reasonOf("list")).to.equal("exposed");
      await chmod(file, 0o600);
    }
    await writeFile(file, "{");
    expect(await reasonOf("list")).to.equal("broken");
    expect(await readFile(file, "utf8")).to.equal("{");
  });

  it("lets only one command at a time change the file", async () => {
    await json("init", "--algorithm", "ES256");
    const ended = await Promise.all([run("add"), run("add"), run("add")]);
    expect(ended.filter(({ code }) => code === 0)).to.have.length(1);
    expect(readRing(await readFile(file, "utf8")).keys).to.have.length(2);
    expect(await readdir(folder)).to.deep.equal(["keys.json"]);
  });

  it("prints its usage on --help and without arguments", async () => {
    for (const args of [[], ["list", "--help"]]) {
      const { code, stdout } = await (args.length === 0 ? run : inProcess)(...args);
      expect(code).to.equal(0);
      expect(stdout).to.match(/^Usage: svc-keys <command>/);
    }
  });

  it("is documented in the README with all commands and flags", async () => {
    const compact = (markdown: string): string => markdown.replaceAll(/ +/g, " ").replaceAll(/-{3,}/g, "---");
    const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
    expect(compact(readme)).to.include(compact(svcKeys.markdown));
  });

  const misuses: readonly [readonly string[], string][] = [
    [["lst"], "lst is not a command; did you mean list?"],
    [["--json"], "a command is missing"],
    [["list", "more"], "unexpected argument more"],
    [["promote", "a", "b"], "unexpected argument b"],
    [["list", "--force"], "list does not accept --force"],
    [["promote", "--now"], "promote does not accept --now"],
    [["add", "--refresh-seconds", "1"], "add does not accept --refresh-seconds"],
    [["retire"], "retire needs the kid of a key, or --due"],
    [["retire", "a", "--due"], "--due cannot be combined with a kid or --now"],
    [["retire", "--due", "--now"], "--due cannot be combined with a kid or --now"],
    [["init", "--algorithm", "none"], "--algorithm must be one of RS256"],
    [["init", "--rsa-bits", "1024"], "--rsa-bits must be a whole number from 2048 to 8192"],
    [["init", "--refresh-seconds", "0"], "--refresh-seconds must be a whole number from 1"],
    [["init", "--leeway-seconds", "1.5"], "--leeway-seconds must be a whole number from 0"],
    [["init", "--file", ""], "--file is empty"],
    [["list", "--from", "x"], "list does not accept --from"],
    [["init", "--colour"], "Unknown option '--colour'; expected one of --file, --algorithm,"],
    [["init", "--algoritm", "ES256"], "Unknown option '--algoritm'; did you mean --algorithm?"],
    [["init", "--algorithm", "ES265"], "did you mean ES256?"],
  ];
  for (const [args, message] of misuses) {
    it(`rejects: svc-keys ${args.join(" ")}`, () => {
      expect(() => svcKeys.parse(args)).to.throw(InvalidUse, message);
    });
  }

  it("exits with 2 for invalid arguments, prints the reason, and writes nothing", async () => {
    const { code, stdout, stderr } = await run("lst");
    expect([code, stdout]).to.deep.equal([2, ""]);
    expect(stderr).to.equal(
      "svc-keys: lst is not a command; did you mean list?\nrun svc-keys --help for more\n",
    );
    const refused = await inProcess("init", "--rsa-bits", "1024", "--json");
    expect([refused.code, refused.stdout]).to.deep.equal([2, ""]);
    expect(JSON.parse(refused.stderr)).to.include({ code: "ERR_SVC_KEYS_USAGE" });
    expect(await readdir(folder)).to.deep.equal([]);
  });
});

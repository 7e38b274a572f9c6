import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "chai";
import { privatePem, secret } from "./support/bases.ts";
import { runProgram } from "../src/program.ts";
import { startForeign } from "./support/foreign-service.ts";

const program = fileURLToPath(new URL("../src/command-line.ts", import.meta.url));

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the program in a child process, as users do. */
async function runAlone(folder: string, ...args: readonly string[]): Promise<Ended> {
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

/** Runs the program in this process, which is much faster; file arguments become absolute paths. */
async function run(folder: string, ...args: readonly string[]): Promise<Ended> {
  const written = { stdout: "", stderr: "" };
  const whole = args.map((each) => (/^[\w-]+\.(?:json|log|pem|xml)$/.test(each) ? join(folder, each) : each));
  const code = await runProgram(whole, {
    stdout: { write: (text) => (written.stdout += text) },
    stderr: { write: (text) => (written.stderr += text) },
  });
  return { code, ...written };
}

describe("svc-conformance", function () {
  this.timeout(60_000);
  let folder = "";
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "svc-conformance-"));
    await writeFile(join(folder, "key.pem"), privatePem);
    await file("keys.json", { algorithm: "RS256", private_key_file: "key.pem", audience: "foreign" });
    await file("probes.json", {
      features: ["auth"],
      open: "/open",
      protected: "/mine",
      scoped: { request: "/orders", scopes: ["read", "write"] },
    });
  });
  after(async () => {
    await rm(folder, { recursive: true });
  });
  const file = (name: string, value: unknown): Promise<void> =>
    writeFile(join(folder, name), typeof value === "string" ? value : JSON.stringify(value));

  it("prints a table and exits with 0 for a service that conforms", async () => {
    await using foreign = await startForeign();
    const { code, stdout, stderr } = await runAlone(
      folder,
      foreign.url,
      "--keys",
      "keys.json",
      "--probes",
      "probes.json",
      "--failing",
      "/failing",
      "--max-not-applicable",
      "91",
      "--json",
      "report.json",
      "--junit",
      "report.xml",
    );
    expect(stderr).to.equal("");
    expect(code, stdout).to.equal(0);
    expect(stdout).to.match(/^pass {2}SYS-1 +system-endpoints +GET \/health answers 200/m);
    expect(stdout).to.match(/^n\/a {3}MET|^n\/a {3}SYS-7/m);
    expect(stdout).to.match(
      /\n27 passed, 0 failed, 91 not applicable: no rule of the contract is broken, 27 of 118 rules checked; not covered: /,
    );
    const report = JSON.parse(await readFile(join(folder, "report.json"), "utf8")) as {
      findings: { id: string; text: string; verdict: { status: string } }[];
      conforms: boolean;
    };
    expect(report.conforms).to.equal(true);
    expect(report.findings.find(({ id }) => id === "AUTH-10")?.verdict.status).to.equal("pass");
    expect(report.findings.find(({ id }) => id === "LOG-1")?.text).to.equal(
      "Every log entry is one JSON object on one line of standard output.",
    );
    const xml = await readFile(join(folder, "report.xml"), "utf8");
    expect(xml).to.match(/<testsuite name="[^"]+" tests="\d+" failures="0" skipped="\d+"/);
    expect(xml).to.contain('<testcase classname="authentication" name="AUTH-10 A refresh token');
  });

  it("exits with 1 when a rule is broken, shows the observed and expected behaviour, and prints no token", async () => {
    await using foreign = await startForeign();
    const { code, stdout } = await run(
      folder,
      foreign.url,
      "--house",
      "--keys",
      "keys.json",
      "--probes",
      "probes.json",
      "--junit",
      "failed.xml",
    );
    expect(code).to.equal(1);
    expect(stdout).to.match(
      /^FAIL {2}ERR-12 .*\n +observed: detail "sign in"\n +expected: authentication required\n +rule: {5}The 401 problem has title/m,
    );
    expect(stdout).to.match(
      /no rule of the contract is broken, \d+ of 217 rules checked; conventions broken: [1-9]\d*/,
    );
    expect(stdout).not.to.match(/eyJ[\w-]+\.[\w-]+/);
    expect(await readFile(join(folder, "failed.xml"), "utf8")).to.contain(
      '<failure message="detail &quot;sign in&quot;">expected: authentication required\nrule: The 401 problem has title',
    );
  });

  it("accepts probes as arguments instead of a file", async () => {
    await using foreign = await startForeign();
    const { code, stdout, stderr } = await run(
      folder,
      foreign.url,
      "--keys",
      "keys.json",
      "--features",
      "auth",
      "--open",
      "/open",
      "--mixed",
      "/open",
      "--protected",
      "GET /mine",
      "--scoped",
      "/orders read,write",
      "--only",
      "AUTH-14,AUTH-15,AUTH-17",
    );
    expect(code, stderr).to.equal(0);
    expect(stdout).to.contain("3 passed, 0 failed, 0 not applicable");
  });

  it("prints its usage with --help", async () => {
    const { code, stdout } = await run(folder, "--help");
    expect(code).to.equal(0);
    expect(stdout)
      .to.match(/^Usage: svc-conformance <base URL>/)
      .and.contain("--serve-keys");
  });

  it("exits with 2 in a child process when the URL is invalid", async () => {
    const { code, stdout, stderr } = await runAlone(folder, "localhost:8000");
    expect([code, stdout]).to.deep.equal([2, ""]);
    expect(stderr).to.match(/^svc-conformance: url: "localhost:8000" is not an http or https URL\n/);
  });

  it("prints how long it will wait, and exits with 2 when the grace window does not fit into the timeout", async () => {
    await using foreign = await startForeign();
    const args = [foreign.url, "--keys", "keys.json", "--probes", "waiting.json"];
    await file("waiting.json", {
      session: {
        request: "POST /session",
        access_token: "access",
        refresh_token: "refresh",
        grace_seconds: 8,
      },
      slow: "/slow",
      limits: { request_timeout_seconds: 0.7 },
    });
    // The run stops after printing the waits, because sign-in with `POST /session` fails.
    const { stderr } = await run(folder, ...args);
    expect(stderr.split("\n", 1)[0]).to.equal(
      "svc-conformance: takes about 9 s: 9 s for the window after a refresh (grace_seconds 8), " +
        "1 s for the request timeout (request_timeout_seconds 0.7)",
    );
    const short = await run(folder, ...args, "--timeout", "5");
    expect(short.code).to.equal(2);
    expect(short.stderr).to.match(/graceSeconds: a window of 8 s does not fit into the 5 s of totalSeconds/);
  });

  it("exits with 2 when a probe's route does not exist", async () => {
    await using foreign = await startForeign();
    const { code, stderr } = await run(
      folder,
      foreign.url,
      "--keys",
      "keys.json",
      "--open",
      "/opne",
      "--protected",
      "POST /mine",
    );
    expect(stderr)
      .to.match(/probes\.open: the service responds with 404/)
      .and.match(/probes\.protected: .* 405/);
    expect(code).to.equal(2);
  });

  describe("exits with 2 and names the fault", () => {
    const nowhere = "http://127.0.0.1:9";
    const cases: readonly (readonly [what: string, args: readonly string[], fault: RegExp])[] = [
      ["a missing URL", [], /one base URL is required/],
      ["an unknown option", [nowhere, "--key", "x"], /Unknown option '--key'/],
      ["an invalid URL", ["localhost:8000"], /url: "localhost:8000" is not an http or https URL/],
      [
        "a URL with another protocol",
        [`ftp://a:${secret}@127.0.0.1`],
        /url: "ftp:\/\/\*\*\*@127.0.0.1" is not an http or/,
      ],
      ["a URL with a password", ["http://a:b@127.0.0.1:9"], /url: must not contain a user or a password/],
      [
        "a service that does not respond",
        [nowhere],
        /url: http:\/\/127\.0\.0\.1:9\/ does not respond: ECONNREFUSED/,
      ],
      [
        "an unknown feature",
        [nowhere, "--features", "magic"],
        /features: "magic" is not one of auth, tenancy/,
      ],
      [
        "an unknown required feature",
        [nowhere, "--require", "sessions"],
        /require: "sessions" is unknown; expected one of auth, dependencies, failing, /,
      ],
      [
        "a negative number of rules",
        [nowhere, "--max-not-applicable", "-1"],
        /--max-not-applicable'? argument is ambiguous|--max-not-applicable: "-1" must be a whole number/,
      ],
      [
        "a fractional number of rules",
        [nowhere, "--max-not-applicable", "1.5"],
        /--max-not-applicable: "1\.5" must be a whole number of at least 0/,
      ],
      ["an unknown rule", [nowhere, "--only", "ABC-1"], /only: "ABC-1" is not a rule that this kit knows/],
      ["an unknown profile", [nowhere, "--profile", "half"], /profile: "half" is neither full nor reduced/],
      [
        "an invalid route",
        [nowhere, "--open", "open"],
        /--open: "open" is neither "\/path" nor "METHOD \/path"/,
      ],
      [
        "a scoped route without scopes",
        [nowhere, "--scoped", "/a"],
        /--scoped: "\/a" is not "\/path one,other"/,
      ],
      ["a missing file", [nowhere, "--keys", "none.json"], /none\.json: cannot be read/],
      ["a missing log file", [nowhere, "--log", "none.log"], /log: \S*none\.log cannot be read/],
      [
        "an invalid replica URL",
        [nowhere, "--replica", "localhost:1"],
        /replica: "localhost:1" is not an http or https URL/,
      ],
      [
        "a session without a sign-in request",
        [nowhere, "--probes", "session.json"],
        /probes\.session\.request: is required/,
      ],
      [
        "an unknown member in a session",
        [nowhere, "--probes", "session.json"],
        /probes\.session\.graces: is unknown; expected one of request, accessToken/,
      ],
      [
        "a grace window that is not a number",
        [nowhere, "--probes", "session.json"],
        /probes\.session\.graceSeconds: must be a number/,
      ],
      [
        "a hook without a request to restore it",
        [nowhere, "--probes", "session.json"],
        /probes\.session\.hook\.restore: is required/,
      ],
      [
        "a store option of the wrong type",
        [nowhere, "--probes", "session.json"],
        /probes\.session\.store\.failOpen: must be true or false/,
      ],
      [
        "a provider without a name",
        [nowhere, "--probes", "session.json"],
        /probes\.federated\.provider: is required/,
      ],
      [
        "a rate limit without a route",
        [nowhere, "--probes", "limited.json"],
        /probes\.limited\.request: is required/,
      ],
      [
        "a rate limit that is not a number above 0",
        [nowhere, "--probes", "limited-to-0.json"],
        /probes\.limited\.limit: must be a number above 0/,
      ],
      [
        "a rate limit that the kit does not exceed",
        [nowhere, "--probes", "limited-to-500.json"],
        /probes\.limited\.burst: must be a number from 4 to 200; it is 500/,
      ],
      [
        "a store of rate limits without a request to restore it",
        [nowhere, "--probes", "limited.json"],
        /probes\.limitStore\.restore: is required/,
      ],
      ["an invalid timeout", [nowhere, "--timeout", "soon"], /totalSeconds: must be a number above 0/],
      [
        "a served key set without an algorithm",
        [nowhere, "--serve-keys", "127.0.0.1:0"],
        /serve-keys: requires keys\.algorithm/,
      ],
      ["the algorithm none", [nowhere, "--keys", "none-alg.json"], /algorithm: is required: one of RS256/],
      [
        "an unknown name in the file of keys",
        [nowhere, "--keys", "wrong.json"],
        /wrong\.json: secrets: is unknown; expected one of/,
      ],
      [
        "a value of the wrong type in the file of keys",
        [nowhere, "--keys", "typed.json"],
        /typed\.json: leeway: must be a number/,
      ],
      [
        "an unknown name in the file of probes",
        [nowhere, "--probes", "wrong.json"],
        /wrong\.json: secrets: is unknown/,
      ],
      [
        "an HS256 key file without a secret",
        [nowhere, "--keys", "bare.json"],
        /keys\.secret: is required for HS256/,
      ],
      [
        "an RS256 key file without a private key",
        [nowhere, "--keys", "bare-rsa.json"],
        /keys\.private_key: is required for RS256/,
      ],
      ["an invalid private key", [nowhere, "--keys", "bad.json"], /keys\.private_key: is not a private key/],
      [
        "a private key of the wrong type",
        [nowhere, "--keys", "other.json"],
        /keys\.private_key: is not a key for ES256/,
      ],
      ["an invalid probe", [nowhere, "--probes", "route.json"], /probes\.open: must be "\/path" or/],
      [
        "a scoped probe without scopes",
        [nowhere, "--probes", "route.json"],
        /probes\.scoped\.scopes: must be a list/,
      ],
      [
        "a dependency without requests to break and restore it",
        [nowhere, "--probes", "route.json"],
        /probes\.dependencies: each needs check/,
      ],
      [
        "tenancy by subdomain without a base domain",
        [nowhere, "--probes", "domain.json"],
        /tenancy\.base_domain: is required/,
      ],
      ["a file that is not JSON", [nowhere, "--keys", "key.pem"], /key\.pem: is not JSON/],
      [
        "a served key set for an algorithm with a shared secret",
        [nowhere, "--keys", "hmac.json", "--serve-keys", "127.0.0.1:0"],
        /must name an algorithm with a public key, such as RS256; it names HS256/,
      ],
      [
        "an invalid address for the key set",
        [nowhere, "--keys", "keys.json", "--serve-keys", "9000"],
        /"9000" is not host:port/,
      ],
      ["a log that is a directory", [nowhere, "--log", "."], /log: \. is a directory/],
      [
        "a base URL with a password that contains a slash",
        [`http://user:${secret}/${secret}@localhost:80/`],
        /url: "http:\/\/\*\*\*@localhost:80\/" is not an http or https URL/,
      ],
      [
        "a base URL with a password that contains an @",
        [`ftp://user:${secret}@${secret}@localhost/`],
        /url: "ftp:\/\/\*\*\*@localhost\/" is not/,
      ],
      [
        "a base URL without a scheme but with a password",
        [`user:${secret}@localhost`],
        /"\*\*\*@localhost" is not/,
      ],
      [
        "an invalid address for the receiver of spans",
        [nowhere, "--serve-otlp", "4318"],
        /serve-otlp: "4318" is not host:port/,
      ],
    ];
    before(async () => {
      await file("none-alg.json", { algorithm: "none" });
      await file("wrong.json", { algorithm: "HS256", secrets: secret });
      await file("typed.json", { algorithm: "HS256", secret, leeway: "30" });
      await file("bare.json", { algorithm: "HS256" });
      await file("bare-rsa.json", { algorithm: "RS256" });
      await file("hmac.json", { algorithm: "HS256", secret });
      await file("bad.json", { algorithm: "RS256", private_key: secret });
      await file("other.json", { algorithm: "ES256", private_key: privatePem });
      await file("route.json", { open: "open", scoped: { request: "/a" }, dependencies: [{ check: "db" }] });
      await file("session.json", {
        session: {
          graces: 1,
          grace_seconds: "1",
          hook: { decline: "POST /a" },
          store: { break: "/a", restore: "/b", fail_open: "no" },
        },
        federated: {},
      });
      await file("limited.json", { limited: { limit: 5 }, limit_store: { break: "POST /break" } });
      await file("limited-to-0.json", { limited: { request: "/limited", limit: 0 } });
      await file("limited-to-500.json", { limited: { request: "/limited", limit: 500 } });
      await file("domain.json", { tenancy: { sources: ["subdomain"] } });
    });
    for (const [what, args, fault] of cases) {
      it(`for ${what}`, async () => {
        const { code, stdout, stderr } = await run(folder, ...args);
        expect(stderr).to.match(fault);
        expect(code).to.equal(2);
        expect(`${stdout}${stderr}`).not.to.contain(secret);
        expect(stderr).not.to.contain("PRIVATE KEY");
      });
    }
  });
});

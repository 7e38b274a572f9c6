import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { createService, type Service } from "@svc/express";
import { codeBlocks } from "@svc/test-support";
import { generateKey, newRing, writeRing } from "@svc/token-issuer";
import { expect } from "chai";
import { eventually } from "./sample-requests.ts";

const run = promisify(execFile);
const program = fileURLToPath(new URL("../packages/token-issuer/src/command-line.ts", import.meta.url));
const operate = readFileSync(new URL("../docs/operate.md", import.meta.url), "utf8");
const section = operate.split(/^## /m).find((part) => part.startsWith("Sessions\n")) ?? "";

describe("the section on sessions in docs/operate.md", function () {
  this.timeout(60_000);
  const folder = mkdtempSync(join(tmpdir(), "svc-docs-"));
  after(() => rmSync(folder, { recursive: true }));

  it("ISS-15 shows commands with the results that it describes", async () => {
    const [commands = ""] = codeBlocks(section, "sh");
    const lines = commands.match(/^npx svc-keys .*$/gm) ?? [];
    const said: string[] = [];
    const file = join(folder, "keys.json");
    for (const line of lines) {
      const [, , ...given] = line.replace(/#.*$/, "").trim().split(/\s+/);
      const args = given.map((each) => (each === "keys.json" ? file : each));
      const { stdout } = await run(process.execPath, ["--conditions=@svc/source", program, ...args]).catch(
        (error: unknown) => ({ stdout: `refused: ${String(error)}` }),
      );
      said.push(stdout);
    }
    const [init = "", add = "", list = "", promote = "", retire = ""] = said;
    expect(said).to.have.lengthOf(5);
    expect([init, add].map((each) => each.includes("is written"))).to.deep.equal([true, true]);
    expect(list).to.include("ES256").and.include("next");
    // `promote` requires that the key has been published for two minutes, and `retire` requires 30 days. Neither has
    // passed.
    expect(promote)
      .to.match(/^refused: .*Error/)
      .and.include("is not known everywhere yet");
    expect(retire).to.include("nothing to do");
  });

  it("RDY-22 RDY-23 quotes the details of /ready and the log lines while Redis is down", async () => {
    const lines: Record<string, unknown>[] = [];
    const file = join(folder, "ring.json");
    const ring = newRing(await generateKey({ algorithm: "ES256" }), Date.now());
    writeFileSync(file, writeRing(ring), { mode: 0o600 });
    const [toml = ""] = codeBlocks(section, "toml");
    expect(toml).to.include('"/etc/shop/keys.json"');
    const asked = toml.replace('"/etc/shop/keys.json"', JSON.stringify(file));
    const service: Service = await createService({
      config: { toml: `[service]\nname = "shop"\nport = 0\n${asked}` },
      env: { REDIS_URL: "redis://127.0.0.1:1" },
      signals: false,
      logDestination: { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) },
    });
    await service.start();
    try {
      const url = `http://127.0.0.1:${service.address?.port}`;
      const pair = await service.issuer?.issuePair({ subject: "ann" });
      const headers = { Authorization: `Bearer ${pair?.access_token}`, "Content-Type": "application/json" };
      const body = JSON.stringify({ refresh_token: pair?.refresh_token });
      const statuses = [];
      for (const [path, init] of [
        ["/auth/me", {}],
        ["/auth/refresh", { method: "POST", body }],
        ["/auth/logout", { method: "POST" }],
      ] as const) {
        const { status } = await fetch(url + path, { ...init, headers });
        statuses.push(status);
      }
      expect(statuses).to.deep.equal([200, 503, 503]);
      const wrong = { method: "POST", body: JSON.stringify({ refresh_token: "none" }), headers };
      expect((await fetch(`${url}/auth/refresh`, wrong)).status).to.equal(401);
      const first = await checksOf(url);
      expect(section).to.include(`\`${first["cache"]}\``).and.include(`\`${first["signing-keys"]}\``);
      expect(operate).to.include(`\`...;${first["auth"]?.split(";")[1]}\``);
      writeFileSync(file, "{}");
      await eventually(async () => (await checksOf(url))["signing-keys"]?.includes(";") === true);
      expect(section).to.include(`\`...;${(await checksOf(url))["signing-keys"]?.split(";")[1]}\``);
    } finally {
      await service.stop();
    }
    const said = lines.filter(({ level }) => level === "warn").map(({ message }) => String(message));
    expect(said).to.include.members(["Redis is not available"]);
    const refused = lines.find(({ message }) => message === "refresh refused");
    expect(refused).to.include({ level: "info", reason: "malformed" });
    const unknown = said.filter(
      (line) => !line.startsWith("readiness is") && !operate.includes(line.split(";")[0] ?? line),
    );
    expect(unknown).to.deep.equal([]);
    expect(section).to.include("`refresh refused`");
    const fields = new Set(
      [...operate.matchAll(/^\|(.*?)\|/gm)].flatMap(([, cell = ""]) => cell.match(/(?<=`)\w+(?=`)/g) ?? []),
    );
    expect([...new Set(lines.flatMap(Object.keys))].filter((name) => !fields.has(name))).to.deep.equal([]);
  });

  it("RDY-23 explains the readiness details for an in-process store and a shared secret", async () => {
    const toml =
      '[service]\nname = "shop"\nport = 0\n[plugins]\nenabled = ["auth"]\n' +
      '[plugin.auth]\nmode = "secret"\nalgorithms = ["HS256"]\nissue_tokens = true\n' +
      '[plugin.auth.providers.github]\nclient_id = "a"\nclient_secret = "b"\n' +
      'redirect_uri = "http://localhost/auth/github/callback"\n';
    await using service = await createService({
      config: { toml },
      env: { SVC_AUTH_SECRET: "a secret of the tests, longer than 32 bytes" },
      signals: false,
      logDestination: { write: () => undefined },
    });
    await service.start();
    const checks = await checksOf(`http://127.0.0.1:${service.address?.port}`);
    for (const name of ["token-store", "signing-keys"]) expect(section).to.include(`\`${checks[name]}\``);
    expect(section).to.include(checks["oidc-login"]);
  });
});

async function checksOf(url: string): Promise<Readonly<Record<string, string>>> {
  const { checks } = (await (await fetch(`${url}/ready`)).json()) as {
    readonly checks: Readonly<Record<string, { readonly detail: string }>>;
  };
  return Object.fromEntries(Object.entries(checks).map(([name, { detail }]) => [name, detail]));
}

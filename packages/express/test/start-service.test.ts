import { createServer } from "node:net";
import { once } from "node:events";
import { expect } from "chai";
import { configurationExitCode } from "@svc/express";
import { runChild } from "./support/child.ts";

const start = (options = ""): string => `
  import { startService } from "@svc/express";
  await startService({ ${options} });
`;
const file = (name: string): string => `[service]\nname = "${name}"\nport = 0\n`;

describe("startService()", () => {
  it("CFG-2 prefers the file in the first argument to the file in the options", async () => {
    await using child = await runChild(start('config: "one.toml"'), {
      args: ["two.toml"],
      files: { "one.toml": file("one"), "two.toml": file("two") },
    });
    await child.listening();
    expect(child.lines()[0]).to.include({ service: "two" });
  });

  it("CFG-2 reads the file in the options, by path or URL", async () => {
    for (const place of ['"one.toml"', 'new URL("./one.toml", import.meta.url)']) {
      await using child = await runChild(start(`config: ${place}`), { files: { "one.toml": file("one") } });
      await child.listening();
      expect(child.lines()[0]).to.include({ service: "one" });
    }
  });

  it("CFG-14 CFG-12 exits with 2 and one message that lists every fault", async () => {
    await using child = await runChild(start('config: "wrong.toml"'), {
      files: { "wrong.toml": '[service]\nprt = 1\n[plugins]\nenabled = ["databse"]\n' },
      env: { SVC_ENV: "production" },
    });
    expect(await child.ended).to.deep.equal({ code: configurationExitCode, signal: null });
    expect(configurationExitCode).to.equal(2);
    expect(child.stdout()).to.equal("");
    expect(child.stderr())
      .to.contain("wrong.toml is configured wrongly (4 faults):")
      .and.to.contain("service.prt: is unknown; did you mean port?")
      .and.to.contain("service.name: is required")
      .and.to.contain("SVC_ENV: must be one of")
      .and.to.contain("databse")
      .and.not.to.contain("    at ");
  });

  it("CFG-14 exits with 2 for an invalid option and for an invalid file", async () => {
    await using option = await runChild(start('rotes: () => undefined, config: { toml: "" }'));
    expect((await option.ended).code).to.equal(2);
    expect(option.stderr()).to.contain("rotes: is unknown; did you mean routes?");
    await using missing = await runChild(start(), { args: ["nowhere.toml"] });
    expect((await missing.ended).code).to.equal(2);
    expect(missing.stderr()).to.contain("nowhere.toml");
    await using reduced = await runChild(start('profile: "reduced"'), {
      args: ["a.toml"],
      files: { "a.toml": file("a") },
      env: { SVC_APP_NAME: "a" },
    });
    expect((await reduced.ended).code).to.equal(2);
    expect(reduced.stderr()).to.contain("config: is used only in the full profile");
  });

  it("CFG-14 exits with 2 for a plugin that throws, after stopping the plugins that have started", async () => {
    const plugins = `plugins: {
      opened: definePlugin({
        name: "opened",
        start() {
          const timer = setInterval(() => {}, 1000);
          return { stop: ["close", () => { clearInterval(timer); process.stderr.write("opened stopped\\n"); }] };
        },
      }),
      broken: definePlugin({ name: "broken", start() { throw new Error("no such file"); } }),
    }`;
    const toml = '[service]\\nname = "a"\\nport = 0\\n[plugins]\\nenabled = ["opened", "broken"]';
    const source = `import { definePlugin } from "@svc/plugin";\n${start(`${plugins}, config: { toml: '${toml}' }`)}`;
    await using child = await runChild(source);
    expect((await child.ended).code).to.equal(2);
    expect(child.stderr())
      .to.match(/^opened stopped\n/)
      .and.to.contain("plugin.broken: did not start: Error: no such file");
    expect(child.lines().map(({ message }) => message)).not.to.include("listening");
  });

  it("PORT-2 exits with 1 and names the remedy when the port is in use", async () => {
    const holder = createServer().listen(0, "127.0.0.1");
    await once(holder, "listening");
    const { port } = holder.address() as { port: number };
    await using child = await runChild(start('config: "one.toml"'), {
      files: { "one.toml": file("one") },
      env: { SVC_PORT: String(port) },
    });
    expect((await child.ended).code).to.equal(1);
    expect(child.stderr()).to.equal(`port ${port} of 127.0.0.1 is taken; set SVC_PORT to a free one\n`);
    holder.close();
  });

  it("exits with 1 and prints the stack trace for an error other than an invalid configuration", async () => {
    await using child = await runChild(
      start('config: "one.toml", routes() { throw new Error("no schema"); }'),
      {
        files: { "one.toml": file("one") },
      },
    );
    expect((await child.ended).code).to.equal(1);
    expect(child.stderr()).to.contain("Error: no schema").and.to.contain("service.mjs");
  });

  it("exits with 0 on a SIGTERM that arrives while asynchronous routes are being registered", async function () {
    if (process.platform === "win32") this.skip();
    const routes =
      'async routes(app, service) { service.log.info({}, "slow"); await new Promise((done) => setTimeout(done, 60_000)); }';
    await using child = await runChild(start(`config: "one.toml", ${routes}`), {
      files: { "one.toml": file("one") },
    });
    await child.line((line) => line["message"] === "slow");
    child.kill("SIGTERM");
    expect(await child.ended).to.deep.equal({ code: 0, signal: null });
  });

  it("exits with 0 on a SIGTERM that is pending when the service has been created", async function () {
    if (process.platform === "win32") this.skip();
    const routes = 'routes() { process.kill(process.pid, "SIGTERM"); }';
    await using child = await runChild(start(`config: "one.toml", ${routes}`), {
      files: { "one.toml": file("one") },
    });
    expect(await child.ended).to.deep.equal({ code: 0, signal: null });
  });
});

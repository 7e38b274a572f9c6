import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { jwtAuth } from "@svc/jwt-auth";
import { collectingLogger } from "@svc/test-support";
import { expect } from "chai";

const TEXT = "no audience is configured: tokens issued for other services are accepted";
const secret = "s".repeat(32);

/** Runs a module that imports `jwtAuth` in a child process; returns its standard error. */
async function stderrOf(code: string): Promise<string> {
  const module = `import { jwtAuth } from "@svc/jwt-auth"; const secret = "${secret}"; ${code}`;
  const flags = ["--conditions=@svc/source", "--input-type=module", "--eval", module];
  const { stderr } = await promisify(execFile)(process.execPath, flags, { cwd: import.meta.dirname });
  return stderr;
}

describe("jwtAuth() without an audience", () => {
  it("prints one warning per process on standard error when it has no logger (AUTH-6)", async () => {
    const stderr = await stderrOf("jwtAuth({ secret }); jwtAuth({ secret, audience: [] });");
    expect(stderr.split(TEXT)).to.have.length(2);
    expect(stderr).to.include(`[JWT_NO_AUDIENCE] Warning: jwtAuth(): ${TEXT}`);
  });

  it("prints nothing when it has a logger, and logs the warning (AUTH-6)", async () => {
    const none = "() => undefined";
    const logger = `{ debug: ${none}, info: ${none}, warn: ${none}, error: ${none}, fatal: ${none} }`;
    expect(await stderrOf(`jwtAuth({ secret, logger: ${logger} });`)).to.equal("");
    const collected = collectingLogger();
    jwtAuth({ secret, logger: collected });
    expect(collected.at("warn")).to.eql([TEXT]);
  });

  it("prints and logs nothing with an audience", async () => {
    expect(await stderrOf(`jwtAuth({ secret, audience: "orders" });`)).to.equal("");
    const collected = collectingLogger();
    jwtAuth({ secret, audience: "orders", logger: collected });
    expect(collected.lines).to.eql([]);
  });
});

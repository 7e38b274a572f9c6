import { testDatabase, testRedis } from "@svc/dev-services";
import { runSample } from "@svc/test-support";
import { expect } from "chai";

const readme = new URL("../README.md", import.meta.url);
// This time limit exceeds any pause of a busy machine.
const patience = "timeoutMs: 15_000";

describe("README of @svc/token-store", function () {
  this.timeout(60_000);
  const server = testRedis();
  const database = testDatabase({ name: "token store readme" });

  it("shows a rotation, a race and a revoked session", async () => {
    await using sample = await runSample(readme, 0);
    const { stdout, stderr, code } = await sample.ended;
    expect(code, stderr).to.equal(0);
    expect(stdout).to.equal("rotated\nraced\ntrue replayed\n");
  });

  it("shows a sign-out everywhere, in Redis", async () => {
    const replace = {
      "redis://127.0.0.1:6379": server.url,
      "createRedisTokenStore({ redis })": `createRedisTokenStore({ redis, ${patience} })`,
    };
    await using sample = await runSample(readme, 1, { replace });
    const { stdout, stderr, code } = await sample.ended;
    expect(code, stderr).to.equal(0);
    expect(stdout).to.equal("true\n");
  });

  it("shows a revoked token, in PostgreSQL", async () => {
    const replace = {
      "createPostgresTokenStore({ db: pool })": `createPostgresTokenStore({ db: pool, ${patience} })`,
    };
    await using sample = await runSample(readme, 2, { env: { DATABASE_URL: database.url }, replace });
    const { stdout, stderr, code } = await sample.ended;
    expect(code, stderr).to.equal(0);
    expect(stdout).to.equal("true\n");
  });

  it("shows the suite in another test runner (REF-18)", async () => {
    await using sample = await runSample(readme, 3);
    const { stdout, stderr, code } = await sample.ended;
    expect(code, stdout + stderr).to.equal(0);
    expect(stdout).to.match(/pass \d\d/);
    expect(stdout).to.match(/fail 0/);
  });
});

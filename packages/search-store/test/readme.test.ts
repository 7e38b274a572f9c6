import { randomBytes } from "node:crypto";
import { runSample } from "@svc/test-support";
import { expect } from "chai";
import { useServer } from "./support/backends.ts";

const readme = new URL("../README.md", import.meta.url);

describe("a sample in the README of @svc/search-store", function () {
  this.timeout(120_000);
  const server = useServer();

  it("prints the migration steps", async () => {
    await using sample = await runSample(readme, 2, { env: { DATABASE_URL: "postgres://127.0.0.1:1/x" } });
    const { stdout, stderr, code } = await sample.ended;
    expect(code, stderr).to.equal(0);
    expect(stdout).to.equal("0001_vector 1\n0002_svc_chunks 8\n");
  });

  it("searches through the plugin of a service and its routes", async function () {
    const { pool, url, vector } = server();
    if (!vector) return this.skip();
    const name = `readme_${randomBytes(4).toString("hex")}`;
    await pool.query(`create database ${name} template template0`);
    const own = new URL(url);
    own.pathname = `/${name}`;
    try {
      await using sample = await runSample(readme, 3, { env: { DATABASE_URL: own.href } });
      const { stdout, stderr, code } = await sample.ended;
      expect(code, stderr + stdout).to.equal(0);
      const printed = stdout.split("\n").filter((line) => !line.startsWith('{"'));
      expect(printed.join("\n")).to.equal(`{ chunks: 1, embedded: 1, reused: 0, removed: 0 }
[ '1: Taxi to the airport' ]
{ hits: [] }
{ chunks: 1, documents: 1 }
`);
    } finally {
      await pool.query(`drop database ${name} with (force)`);
    }
  });
});

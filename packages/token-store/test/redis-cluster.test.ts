import { freePort } from "@svc/dev-services";
import { createRedisTokenStore, type RedisLike } from "@svc/token-store/redis";
import { tokenStoreCases } from "@svc/token-store/testing";
import { expect } from "chai";
import { Cluster, Redis } from "ioredis";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { again, presented } from "./support/presentations.ts";

const installed = spawnSync("redis-server", ["--version"]).status === 0;

// One node that has all slots refuses what touches several of them, as any number of nodes would.
describe("createRedisTokenStore on a Redis Cluster", function () {
  this.timeout(60_000);
  let node: ChildProcess | undefined;
  let folder: string;
  let cluster: Cluster;
  let plain: Redis;

  before(async function () {
    if (!installed) this.skip();
    folder = mkdtempSync(join(tmpdir(), "svc-cluster-"));
    // The port of the cluster's own traffic is 10,000 higher.
    let port = await freePort();
    while (port > 55_000) port = await freePort();
    const settings = ["--port", `${port}`, "--bind", "127.0.0.1", "--dir", folder, "--save", ""];
    node = spawn(
      "redis-server",
      [...settings, "--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1"],
      { stdio: "ignore" },
    );
    plain = new Redis(port, "127.0.0.1", { enableReadyCheck: false, retryStrategy: () => 20 });
    plain.on("error", () => undefined);
    await plain.call("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
    while (!String(await plain.call("CLUSTER", "INFO")).includes("cluster_state:ok")) await sleep(20);
    cluster = new Cluster([{ host: "127.0.0.1", port }], { enableAutoPipelining: true });
    await cluster.ping();
  });
  after(async () => {
    cluster?.disconnect();
    plain?.disconnect();
    if (node?.kill("SIGKILL")) await once(node, "exit");
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });

  it("REF-19 finds out that it is one from a client that does not say so", async () => {
    const redis: RedisLike = {
      eval: (script, count, ...rest) => plain.eval(script, count, ...rest),
      evalsha: (sha, count, ...rest) => plain.evalsha(sha, count, ...rest),
      mget: (...keys) => plain.mget(...keys),
    };
    const token = presented();
    const first = createRedisTokenStore({ redis });
    expect(await first.isRevoked(token)).to.equal(false);
    expect(await first.rotate(token)).to.equal("rotated");
    const second = createRedisTokenStore({ redis });
    expect(await second.rotate(again(token))).to.equal("raced");
    expect(await second.rotate(token)).to.equal("rotated");
    await first.revokeSubject(token.sub, token.signedInAt + 1, 60);
    expect(await second.isRevoked(token)).to.equal(true);
  });

  describe("the suite", () => {
    const create = () => createRedisTokenStore({ redis: cluster });
    for (const { name, run } of tokenStoreCases({ create, createReplica: create })) it(name, run);
  });
});

import { testRedisCluster } from "@svc/dev-services";
import { expect } from "chai";
import { redisCommands } from "../src/redis-command.ts";
import { rejection } from "./support/rejection.ts";

describe("testRedisCluster", function () {
  this.timeout(60_000);
  const redis = testRedisCluster();

  it("starts three nodes that share the slots and redirect a client to the node with the key", async () => {
    const { nodes, seeds } = redis.cluster;
    expect(seeds).to.have.length(3);
    const answers = await Promise.allSettled(
      nodes.map(({ url }) => redisCommands(url, [["SET", "key", "1"]])),
    );
    const taken = answers.map(({ status }) => status).sort();
    expect(taken).to.deep.equal(["fulfilled", "rejected", "rejected"]);
    const other = nodes[answers.findIndex(({ status }) => status === "rejected")];
    expect((await rejection(redisCommands(other?.url ?? "", [["GET", "key"]]))).message).to.match(
      /^MOVED 12539 /,
    );
  });

  it("lets a killed node rejoin its cluster", async () => {
    const node = redis.cluster.nodes[2];
    await node?.kill();
    await node?.restart();
    const url = node?.url ?? "";
    for (;;) {
      const error = await rejection(redisCommands(url, [["EXISTS", "{b}key"]]));
      if (error.message.startsWith("MOVED ")) break;
      expect(error.message).to.match(/^CLUSTERDOWN /);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
});

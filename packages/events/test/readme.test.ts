import { testDatabase } from "@svc/dev-services";
import { runSample } from "@svc/test-support";
import { expect } from "chai";
import { readFile } from "node:fs/promises";
import { brokerNats, brokerRedis } from "./support/servers.ts";

const readme = new URL("../README.md", import.meta.url);
const buses = new URL("../README-buses.md", import.meta.url);
const kafka = new URL("support/kafka-in-memory.mjs", import.meta.url);

describe("the READMEs of @svc/events", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "events readme" });
  const redis = brokerRedis();
  const nats = brokerNats();

  async function printed(...sample: Parameters<typeof runSample>): Promise<string> {
    await using running = await runSample(...sample);
    const { stdout, stderr, code } = await running.ended;
    expect(code, stderr).to.equal(0);
    return stdout;
  }

  it("show an event that reaches a subscriber", async () => {
    expect(await printed(readme, 0, { env: { DATABASE_URL: database.url } })).to.equal("{ id: 'e-1' }\n");
  });

  it("show an event that is published in a transaction and counted once", async () => {
    expect(await printed(readme, 1, { env: { DATABASE_URL: database.url } })).to.equal(
      "[ { seen: 'e-1' } ] { pending: 0, published: 1, dead: 0 }\n",
    );
  });

  it("EVT-7 show one event over Redis Streams, and another over NATS JetStream", async () => {
    const overRedis = printed(buses, 0, { replace: { "redis://localhost:6379": redis.server.url } });
    const overNats = printed(buses, 1, { replace: { "nats://localhost:4222": nats.server.url } });
    expect(await Promise.all([overRedis, overNats])).to.deep.equal([
      "e-1 alice { amount: 12 } 1\n",
      "e-1 alice { amount: 12 } 1\n",
    ]);
  });

  it("EVT-7 show a bus for Kafka that passes the suite against an in-memory broker", async () => {
    const files = { "kafka.mjs": await readFile(kafka, "utf8") };
    const replace = { 'from "kafkajs"': 'from "./kafka.mjs"' };
    expect(await printed(buses, 2, { files, replace })).to.equal("19 cases passed\n");
  });
});

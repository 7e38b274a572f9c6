import { testDatabase } from "@svc/dev-services";
import { runSample } from "@svc/test-support";
import { expect } from "chai";
import { readFile } from "node:fs/promises";

const readme = new URL("../README.md", import.meta.url);
const kafka = new URL("support/kafka-in-memory.mjs", import.meta.url);

describe("README of @svc/events", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "events readme" });

  it("shows an event that is published in a transaction and counted once", async () => {
    await using sample = await runSample(readme, 0, { env: { DATABASE_URL: database.url } });
    const { stdout, stderr, code } = await sample.ended;
    expect(code, stderr).to.equal(0);
    expect(stdout).to.equal("[ { seen: 'e-1' } ] { pending: 0, published: 1, dead: 0 }\n");
  });

  it("shows a bus for Kafka, with a broker in memory in its place", async () => {
    await using sample = await runSample(readme, 1, {
      env: { DATABASE_URL: database.url },
      replace: { 'from "kafkajs"': 'from "./kafka.mjs"' },
      files: { "kafka.mjs": await readFile(kafka, "utf8") },
    });
    const { stdout, stderr, code } = await sample.ended;
    expect(code, stderr).to.equal(0);
    expect(stdout).to.equal("expense.recorded->report expense.recorded\n");
  });
});

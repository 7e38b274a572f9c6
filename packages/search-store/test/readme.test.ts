import { runSample } from "@svc/test-support";
import { expect } from "chai";

const readme = new URL("../README.md", import.meta.url);

describe("README of @svc/search-store", function () {
  this.timeout(120_000);

  it("shows what is found by meaning, by word and by filter, and nothing of another tenant", async () => {
    await using sample = await runSample(readme, 0);
    const { stdout, stderr, code } = await sample.ended;
    expect(code, stderr).to.equal(0);
    expect(stdout.split("\n")).to.deep.equal([
      "{ chunks: 3, embedded: 3, reused: 0, removed: 0 }",
      "{ chunks: 4, embedded: 1, reused: 3, removed: 0 }",
      "[",
      "  'Taxi to the airport (meaning 1, words 1)',",
      "  'Train to Turin (meaning 2, words null)'",
      "]",
      "[ 'Train to Turin' ]",
      "[]",
      "pgvector 0.8.7, embedded",
      "",
    ]);
  });

  it("shows the steps of a migration", async () => {
    await using sample = await runSample(readme, 1, { env: { DATABASE_URL: "postgres://127.0.0.1:1/x" } });
    const { stdout, stderr, code } = await sample.ended;
    expect(code, stderr).to.equal(0);
    expect(stdout).to.equal("0001_vector 1\n0002_svc_chunks 8\n");
  });
});

import { readFileSync } from "node:fs";
import { loggingTable, serviceTable } from "@svc/config";
import { codeBlocks, runSample } from "@svc/test-support";
import { expect } from "chai";

const readme = new URL("../README.md", import.meta.url);
const markdown = readFileSync(readme, "utf8");

describe("the README's samples", () => {
  it("CFG-1 read a file, and describe the configuration without secrets", async () => {
    const files = { "service.toml": codeBlocks(markdown, "toml")[0] ?? "" };
    const env = { DATABASE_URL: "postgres://shop:hunter2@db/shop", SVC_ENV: "", SVC_APP_NAME: "" };
    await using sample = await runSample(readme, 0, { files, env });
    const { code, stdout, stderr } = await sample.ended;
    expect([code, stderr]).to.deep.equal([0, ""]);
    expect(stdout).to.equal(codeBlocks(markdown, "text")[0]);
  });

  it("CFG-14 print every fault, and exit with 2", async () => {
    await using sample = await runSample(readme, 1);
    const { code, stderr } = await sample.ended;
    expect(code).to.equal(2);
    expect(stderr).to.equal(codeBlocks(markdown, "text")[1]);
  });

  it("PORT-3 print the ports", async () => {
    await using sample = await runSample(readme, 2);
    expect((await sample.ended).stdout).to.equal("8000 8001 8003 8009\n");
  });
});

describe("the README's table of keys", () => {
  it("names every key and every variable", () => {
    const entries = [serviceTable, loggingTable].flatMap((table) => Object.values(table.keys));
    const keys = entries.filter((entry) => "kind" in entry);
    for (const name of keys.flatMap(({ key, env }) => [key, env ?? key])) {
      expect(markdown).to.match(new RegExp(`[\`.*]${name}\``));
    }
    expect(keys).to.have.lengthOf(25);
  });
});

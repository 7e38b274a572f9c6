import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { demoFolder, demoPostgres, freePort, needsPostgres } from "@svc/dev-services";
import { expect } from "chai";
import { query } from "./support/query.ts";
import { rejection } from "./support/rejection.ts";

describe("demoPostgres", function () {
  this.timeout(60_000);
  needsPostgres();

  it("PORT-4 PORT-6 listens on the service's port + 1, and keeps the data of the checkout between runs", async () => {
    const checkout = realpathSync(mkdtempSync(join(tmpdir(), "svc-checkout-")));
    const folder = demoFolder(checkout);
    const servicePort = (await freePort()) - 1;
    const options = { checkout, servicePort, database: "expenses", env: { PATH: process.env.PATH } };
    try {
      const demo = await demoPostgres(options);
      expect(demo.url).to.equal(`postgresql://postgres@127.0.0.1:${servicePort + 1}/expenses`);
      expect(demo.description).to.match(/^PostgreSQL [\d.]+ \((embedded|system)\) on port \d+, data in /);
      await query(demo.url, "create table kept as select 42 as answer");
      await demo.stop();
      await using again = await demoPostgres(options);
      expect(await query(again.url, "select answer from kept")).to.deep.equal([{ answer: 42 }]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
      rmSync(checkout, { recursive: true, force: true });
    }
  });

  it("PORT-6 keeps the data in the checkout's .svc, or for root in a temporary folder named after a hash of the checkout's path", () => {
    const here = demoFolder("/some/checkout");
    if (process.getuid?.() === 0) {
      expect(here).to.match(/^\/(var\/)?tmp\/svc-[0-9a-f]{12}$/);
      expect(demoFolder("/another/checkout")).not.to.equal(here);
    } else expect(here).to.equal(join("/some/checkout", ".svc", "postgres"));
  });

  it("PORT-5 rejects when another server uses the service's port + 1", async () => {
    const first = mkdtempSync(join(tmpdir(), "svc-checkout-"));
    const second = mkdtempSync(join(tmpdir(), "svc-checkout-"));
    const servicePort = (await freePort()) - 1;
    const env = { PATH: process.env.PATH };
    try {
      await using demo = await demoPostgres({ checkout: first, servicePort, env });
      const { message } = await rejection(demoPostgres({ checkout: second, servicePort, env }));
      expect(message)
        .to.contain(`port ${servicePort + 1} on 127.0.0.1`)
        .and.to.contain("is taken; stop the process that uses it, or set SVC_PORT");
      expect(await query(demo.url, "select 1 as one")).to.deep.equal([{ one: 1 }]);
    } finally {
      for (const checkout of [first, second]) {
        rmSync(demoFolder(checkout), { recursive: true, force: true });
        rmSync(checkout, { recursive: true, force: true });
      }
    }
  });
});

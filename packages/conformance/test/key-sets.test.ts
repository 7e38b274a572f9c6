import { checkConformance, rules } from "@svc/conformance";
import { expect } from "chai";
import { failures, messagesOf } from "./support/judge.ts";
import { makeServedKeys, startUnderTest } from "./support/service-under-test.ts";

const only = rules.map(({ id }) => id).filter((id) => /^(?:AUTH|CLAIM|KEY)-/.test(id));

describe("the key set that the kit serves", function () {
  this.timeout(120_000);

  for (const algorithm of ["ES256", "EdDSA", "PS512"] as const) {
    it(`causes no failure on a sound service with ${algorithm}`, async () => {
      await makeServedKeys(algorithm);
      await using tested = await startUnderTest("jwks", {
        toml: [['algorithms = ["RS256"]', `algorithms = ["${algorithm}"]`]],
      });
      const report = await checkConformance({ ...tested.options, keys: { algorithm }, only });
      expect(messagesOf(failures(report))).to.deep.equal([]);
      expect(report.findings.find(({ id }) => id === "KEY-2")?.verdict.status).to.equal("pass");
      expect(report.passed).to.be.above(25);
    });
  }
});

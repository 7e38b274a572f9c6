import { issuingMutations } from "./mutations.ts";
import { judgesMutations } from "./support/mutation-suite.ts";

describe("the kit against services that issue tokens and break one rule", function () {
  this.timeout(180_000);
  judgesMutations({
    names: ["issuing", "ring"],
    mutations: issuingMutations(),
    contractOnly: "issuing",
    minPassed: 100,
  });
});

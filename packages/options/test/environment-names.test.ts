import {
  environmentHint,
  environmentKind,
  environmentName,
  environmentNames,
  resolveOptions,
} from "@svc/options";
import { expect } from "chai";

describe("environments", () => {
  for (const [word, meant] of [
    ["production", "prod"],
    ["development", "dev"],
    ["test", "local"],
    ["Production", "prod"],
  ] as const) {
    it(`ENV-2 do not include ${word}, a value of NODE_ENV, and the error suggests ${meant}`, () => {
      expect(environmentHint(word)).to.equal(`did you mean "${meant}"?`);
      for (const kind of [environmentName, environmentKind]) {
        expect(() => resolveOptions("f()", { env: word }, { env: kind })).to.throw(
          `env: must be one of "local", "dev", "staging", "prod"; it is "${word}"; did you mean "${meant}"?`,
        );
      }
    });
  }

  it("ENV-2 are accepted by name, and any other value is rejected without a hint", () => {
    for (const name of environmentNames) {
      expect(environmentName.accepts(name)).to.equal(true);
      expect(environmentHint(name)).to.equal(undefined);
    }
    for (const other of ["qa", "", "toString", 1, null]) {
      expect(environmentName.accepts(other)).to.equal(false);
      expect(environmentHint(other)).to.equal(undefined);
    }
  });
});

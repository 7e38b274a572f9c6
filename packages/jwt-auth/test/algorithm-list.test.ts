import { algorithms, checkAlgorithms } from "@svc/jwt-auth";
import { ConfigurationError } from "@svc/options";
import { expect } from "chai";
import { thrownBy, verifierWith } from "./support/verifying.ts";

function refused(given: unknown): string {
  const error = thrownBy(() => checkAlgorithms("jwtAuth()", given));
  expect(error).to.be.instanceOf(ConfigurationError);
  return error.message;
}

describe("checkAlgorithms", () => {
  it("accepts each of the thirteen known algorithms (AUTH-26)", () => {
    expect(algorithms).to.have.length(13);
    for (const each of algorithms) expect(checkAlgorithms("jwtAuth()", [each])).to.deep.equal([each]);
  });

  it("returns several algorithms of one family frozen and without duplicates", () => {
    const list = checkAlgorithms("jwtAuth()", ["RS256", "EdDSA", "RS256"]);
    expect(list).to.deep.equal(["RS256", "EdDSA"]);
    expect(list).to.be.frozen;
  });

  it("rejects `none` in upper or lower case, alone or with other algorithms (AUTH-4)", () => {
    for (const none of ["none", "None", "NONE", "nOnE"]) {
      expect(refused([none])).to.match(/must not contain "none"/);
      expect(refused(["RS256", none])).to.match(/must not contain "none"/);
    }
  });

  it("rejects a list of symmetric and asymmetric algorithms, and says to pick one family (AUTH-5)", () => {
    const message = refused(["RS256", "HS256", "ES384", "HS512"]);
    expect(message).to.contain("symmetric HS256, HS512 with the asymmetric RS256, ES384");
    expect(message).to.contain("pick one family");
  });

  it("rejects an unknown algorithm and suggests the nearest one (AUTH-26)", () => {
    expect(refused(["RS265"])).to.match(/"RS265", which is unknown; did you mean RS256\?/);
    expect(refused(["rs256"])).to.match(/did you mean RS256\?/);
    expect(refused(["ES256K"])).to.contain("unknown");
    expect(refused(["A".repeat(500)])).to.have.length.below(400);
    expect(refused(["__proto__"])).to.contain("unknown");
  });

  it("rejects an empty list and a value that is not a list of strings (AUTH-3)", () => {
    expect(refused([])).to.match(/is empty/);
    expect(refused("RS256")).to.match(/must be a list/);
    expect(refused(undefined)).to.match(/must be a list/);
    expect(refused([256])).to.match(/not a string/);
    expect(refused([undefined])).to.match(/not a string/);
  });

  it("names the setting that contains the list in its error", () => {
    const error = thrownBy(() => checkAlgorithms("service.toml", [], "plugin.auth.algorithms"));
    expect(error.message).to.contain("plugin.auth.algorithms: is empty");
  });

  it("is called by createVerifier() (AUTH-5)", () => {
    expect(thrownBy(() => verifierWith({ algorithms: ["HS256", "RS256"] })).message).to.contain(
      "pick one family",
    );
  });
});

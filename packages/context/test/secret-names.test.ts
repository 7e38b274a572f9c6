import { isSecretName } from "@svc/context";
import { expect } from "chai";

describe("isSecretName()", () => {
  it("returns true for secret names and for names that end in one, in any letter case", () => {
    for (const name of [
      "authorization",
      "Set-Cookie",
      "x-api-key",
      "dbPassword",
      "refresh_token",
      "API_KEY",
      "clientSecret",
      "passphrase",
    ])
      expect(isSecretName(name), name).to.equal(true);
  });

  it("returns false for other names", () => {
    for (const name of ["name", "tokenize", "keys", "author", "passwordless", ""])
      expect(isSecretName(name), name).to.equal(false);
  });
});

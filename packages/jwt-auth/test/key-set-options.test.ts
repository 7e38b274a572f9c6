import { createKeySetSource, type KeySetOptions } from "@svc/jwt-auth";
import { ConfigurationError } from "@svc/options";
import { expect } from "chai";

const url = "https://issuer.test/.well-known/jwks.json";
// The fetch hangs, because these tests must not call the issuer.
const options = { url, fetch: () => new Promise<never>(() => undefined) } satisfies KeySetOptions;

function faultOf(given: object): string {
  try {
    createKeySetSource({ ...options, ...given } as KeySetOptions).stop();
  } catch (error) {
    expect(error).to.be.instanceOf(ConfigurationError);
    return (error as ConfigurationError).faults.map(({ key, message }) => `${key} ${message}`).join("\n");
  }
  throw new Error("it was taken");
}

function take(given: object): void {
  createKeySetSource({ ...options, ...given } as KeySetOptions).stop();
}

describe("createKeySetSource() and its options", () => {
  it("rejects plain http in prod, the default env (KEY-14)", () => {
    const plain = "http://issuer.test/jwks";
    expect(faultOf({ url: plain })).to.include("url must begin with https:// in prod");
    expect(faultOf({ url: plain, env: "prod" })).to.include("url must begin with https:// in prod");
    for (const env of ["local", "dev", "staging"]) take({ url: plain, env });
    take({});
  });

  it("rejects a URL that is not http or https, and a URL with user and password", () => {
    expect(faultOf({ url: undefined })).to.include("url is required");
    expect(faultOf({ url: "" })).to.include("url must be a non-empty string");
    expect(faultOf({ url: "issuer.test/jwks" })).to.equal("url must be a valid URL");
    for (const scheme of ["file:", "ftp:", "data:", "javascript:"]) {
      expect(faultOf({ url: `${scheme}//issuer.test/jwks` })).to.equal(
        `url must begin with https://; it begins with ${scheme}`,
      );
    }
    for (const userInfo of ["user:hush", "user", ":hush"]) {
      const message = faultOf({ url: `https://${userInfo}@issuer.test/jwks` });
      expect(message).to.include("must not contain a user name or password").and.not.to.include("hush");
    }
  });

  it("rejects the algorithm none and symmetric algorithms (AUTH-4, AUTH-5)", () => {
    expect(faultOf({ algorithms: ["HS256"] })).to.include("algorithms has HS256; a key set is public");
    expect(faultOf({ algorithms: ["HS256", "RS256"] })).to.include("pick one family");
    expect(faultOf({ algorithms: ["none"] })).to.include('must not contain "none"');
    expect(faultOf({ algorithms: [] })).to.include("is empty");
    expect(faultOf({ algorithms: "RS256" })).to.include("must be a list of algorithms");
  });

  it("rejects numbers out of bounds and unknown options", () => {
    for (const [name, wrong] of [
      ["timeoutSeconds", 0],
      ["timeoutSeconds", 61],
      ["attempts", 0],
      ["attempts", 1.5],
      ["breakerFailures", -1],
      ["breakerCoolDownSeconds", 0],
      ["maxAgeSeconds", 0],
      ["maxStaleSeconds", 1],
      ["env", "production"],
      ["fetch", "fetch"],
      ["now", 1],
      ["random", 0.5],
      ["logger", {}],
    ] as const) {
      expect(faultOf({ [name]: wrong })).to.match(new RegExp(`^${name} must be`));
    }
    expect(faultOf({ timeout: 5 })).to.include("timeout is unknown");
    expect(faultOf({ maxStaleSeconds: 1199 })).to.equal(
      "maxStaleSeconds must be at least twice maxAgeSeconds (1200); it is 1199",
    );
    take({ maxStaleSeconds: 1200 });
  });

  it("reports all faults at once", () => {
    const message = faultOf({ url: "ftp://x", algorithms: ["HS256"], maxStaleSeconds: 2 });
    expect(message.split("\n").map((line) => line.split(" ")[0])).to.deep.equal([
      "url",
      "algorithms",
      "maxStaleSeconds",
    ]);
  });
});

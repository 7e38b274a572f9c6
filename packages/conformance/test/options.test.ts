import { checkConformance, type ConformanceOptions, InvalidUse } from "@svc/conformance";
import { expect } from "chai";

const url = "http://127.0.0.1:9";
const secret = "a secret of at least thirty-two bytes";

describe("checkConformance()", () => {
  describe("throws InvalidUse", () => {
    const cases: readonly (readonly [what: string, options: unknown, fault: string])[] = [
      ["undefined", undefined, "the options must be an object"],
      ["null", null, "the options must be an object"],
      ["a missing url", {}, "url: is required"],
      ["a url that is not a string", { url: new URL(url) }, "url: must be a string"],
      ["a replica that is not a string", { url, replica: 5 }, "replica: must be a string"],
      ["keys without an algorithm", { url, keys: {} }, "keys.algorithm: is required: one of RS256"],
      ["keys that are null", { url, keys: null }, "keys: is not an object"],
      [
        "a leeway in a string",
        { url, keys: { algorithm: "HS256", secret, leeway: "30" } },
        "keys.leeway: must be",
      ],
      ["probes that are null", { url, probes: null }, "probes: is not an object"],
      ["features that are not a list", { url, features: "auth" }, "features: must be a list of strings"],
      ["rules that are not a list", { url, only: "AUTH-1" }, "only: must be a list of strings"],
      ["a list of no rules", { url, only: [] }, "only: must name at least one rule"],
      ["tenants that are not a list", { url, tenancy: { tenants: "ab" } }, "tenancy.tenants: must be a list"],
      [
        "a limit spelled as in a file",
        { url, limits: { max_body_bytes: 1 } },
        "limits.max_body_bytes: is unknown",
      ],
      ["a negative limit", { url, limits: { maxBodyBytes: -1 } }, "limits.maxBodyBytes: must be a number of"],
      ["a boolean in a string", { url, house: "no" }, "house: must be true or false"],
      ["a log that is a number", { url, log: 5 }, "log: must be a path or a function"],
      ["an address that is a number", { url, serveOtlp: 4318 }, "serveOtlp: must be a string"],
      [
        "an unlimited number of checks",
        { url, concurrency: Infinity },
        "concurrency: must be a whole number",
      ],
      ["half a check", { url, concurrency: 0.5 }, "concurrency: must be a whole number from 1 to 100"],
      [
        "a time limit beyond that of timers",
        { url, requestSeconds: 3e6 },
        "requestSeconds: must be a number above 0",
      ],
      [
        "a time limit that is not a number",
        { url, totalSeconds: Number.NaN },
        "totalSeconds: must be a number above 0",
      ],
    ];
    for (const [what, options, fault] of cases) {
      it(`for ${what}`, async () => {
        const thrown: unknown = await checkConformance(options as ConformanceOptions).catch(
          (error: unknown) => error,
        );
        expect(thrown).to.be.instanceOf(InvalidUse);
        const { faults, message } = thrown as InvalidUse;
        expect(faults, message).to.have.lengthOf(1);
        expect(message.startsWith(fault), message).to.equal(true);
      });
    }

    it("once, with all faults of all options", async () => {
      const wrong: object = {
        house: 1,
        keys: {},
        tenancy: { baseDomain: "a.b", tenants: ["one"] },
        only: ["NO-1"],
      };
      const thrown: unknown = await checkConformance(wrong as ConformanceOptions).catch(
        (error: unknown) => error,
      );
      expect((thrown as InvalidUse).faults).to.have.lengthOf(5);
    });
  });
});

import { type ClientOptions, createClient } from "@svc/http-client";
import { expect } from "chai";

const message = (options: object): string => {
  try {
    void createClient({ name: "billing", baseUrl: "http://127.0.0.1:1", ...options } as ClientOptions).stop();
  } catch (error) {
    return String(error);
  }
  return "";
};

describe("createClient() options", () => {
  const expected = "must be http:// or https:// without path, query and user-info";
  for (const baseUrl of [
    "billing",
    "ftp://billing",
    "http://billing/api",
    "http://billing?a=1",
    "http://billing#a",
    "http://user:geheim@billing",
    "http://@billing",
    "http:// billing",
    "http:billing:80",
    "http:/billing",
    "http:///billing",
    "http:\\\\billing",
    "http://billing\\",
    "",
    1,
  ]) {
    it(`reject the baseUrl ${JSON.stringify(baseUrl)}`, () => {
      expect(message({ baseUrl })).to.contain("baseUrl").and.contain(expected).and.not.contain("geheim");
    });
  }

  for (const baseUrl of [
    "http://billing",
    "http://billing/",
    "https://billing.internal:8443",
    "http://[::1]:80",
  ]) {
    it(`accept the baseUrl ${baseUrl}`, () => {
      expect(message({ baseUrl })).to.equal("");
    });
  }

  it("accept any logger with info() and warn(), such as the console", () => {
    expect(message({ logger: console })).to.equal("");
    expect(message({ logger: { info: () => undefined } })).to.contain("it has no warn()");
  });

  it("are rejected if they are unknown or invalid", () => {
    for (const [options, text] of [
      [{ name: "" }, "name: must be 1 to 64 letters"],
      [{ name: "a b" }, "name: must be 1 to 64 letters"],
      [{ attempts: 0 }, "attempts: must be a whole number from 1 to 10"],
      [{ totalTimeoutSeconds: 0 }, "totalTimeoutSeconds: must be a number from 0.001 to 3600"],
      [{ retryBudget: -1 }, "retryBudget: must be a number from 0 to 10"],
      [{ maxConcurrentCalls: 0 }, "maxConcurrentCalls: must be a whole number from 1"],
      [{ forwardAuthorisation: true }, "did you mean forwardAuthorization?"],
    ] as const) {
      expect(message(options)).to.contain(text).and.contain("createClient()");
    }
  });
});

import { type CacheOptions, createCache } from "@svc/cache";
import { expect } from "chai";

const message = (options: object): string => {
  try {
    void createCache(options as CacheOptions).stop();
  } catch (error) {
    return String(error);
  }
  return "";
};

describe("createCache options", () => {
  it("are rejected if they are invalid, without showing a secret", () => {
    const url = "redis://127.0.0.1:1";
    for (const [options, expected] of [
      [{}, "url: is required"],
      [{ url, cluster: [{ host: "a" }] }, "cluster: cannot be combined with url"],
      [{ url, client: {} }, "client: must be an ioredis client"],
      [{ cluster: [] }, "cluster: is empty"],
      [{ cluster: [{ host: "" }] }, "cluster: must be a list"],
      [{ url: "http://:geheim@host" }, "url: must be"],
      [{ url: "redis://:geheim@host/nonsense" }, "url: is not a valid Redis URL"],
      [{ url: "redis://:geheim%@host" }, "url: is not a valid Redis URL"],
      [{ url: "redis://:geheim@host?commandTimeout=9" }, "url: must be"],
      [{ url, keyPrefix: "{a}" }, "keyPrefix: must be"],
      [{ url, breakerFailures: 0 }, "breakerFailures: must be"],
      [{ url, commandTimeoutMs: 0 }, "commandTimeoutMs: must be"],
      [{ url, comandTimeoutMs: 5 }, "did you mean commandTimeoutMs?"],
      [{ url: "redis://:p@ss:w/ord@host" }, "percent-encode the user name and password"],
      [{ connection: ["geheim"] }, "connection: must be an object of ioredis options; pass a client"],
      [{ connection: { sendCommand: () => "geheim" } }, "connection: must be an object of ioredis options"],
      [{ connection: { password: "geheim", commandTimeout: 5 } }, "must not have commandTimeout"],
    ] as const) {
      const text = message(options);
      expect(text, JSON.stringify(options)).to.contain(expected).and.contain("createCache()");
      expect(text).not.to.contain("geheim");
    }
  });
});

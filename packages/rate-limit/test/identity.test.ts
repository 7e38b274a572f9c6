import { rateLimit, type RateLimitStore } from "@svc/rate-limit";
import { expressMajors, listen } from "@svc/test-support";
import { expect } from "chai";
import { createServer, type IncomingMessage } from "node:http";
import { networkOf } from "../src/address.ts";
import { identityOf } from "../src/identity.ts";
import { as, ask, limitedApp, statuses } from "./support/limited-app.ts";

const once = { limit: 1, now: () => 0 };

for (const [name, express] of Object.entries(expressMajors)) {
  describe(`the identity of a caller in rateLimit() on ${name}`, () => {
    it("RATE-4 counts two callers of one address by subject", async () => {
      await using app = await limitedApp((each) => each.use(rateLimit(once) as never), express);
      expect(await statuses(app, 2, "/", as({ subject: "ann" }))).to.deep.equal([200, 429]);
      expect(await statuses(app, 2, "/", as({ subject: "bob" }))).to.deep.equal([200, 429]);
      expect(await statuses(app, 2, "/", as({ subject: "ann", tenant: "acme" }))).to.deep.equal([429, 429]);
    });

    it("RATE-4 counts requests without a subject by tenant, and requests without either by address", async () => {
      await using app = await limitedApp((each) => each.use(rateLimit(once) as never), express);
      expect(await statuses(app, 2, "/", as({ tenant: "acme" }))).to.deep.equal([200, 429]);
      expect(await statuses(app, 2, "/", as({ tenant: "other" }))).to.deep.equal([200, 429]);
      expect(await statuses(app, 2)).to.deep.equal([200, 429]);
    });

    it("RATE-4 uses the address from trusted proxies only", async () => {
      await using trusting = await limitedApp((each) => {
        each.set("trust proxy", "loopback");
        each.use(rateLimit(once) as never);
      }, express);
      expect(await statuses(trusting, 2, "/", as({ forwardedFor: "203.0.113.1" }))).to.deep.equal([200, 429]);
      // The client's own value precedes the value that the proxy has appended.
      const forged = as({ forwardedFor: "198.51.100.9, 203.0.113.1" });
      expect(await statuses(trusting, 1, "/", forged)).to.deep.equal([429]);
      expect(await statuses(trusting, 2, "/", as({ forwardedFor: "203.0.113.2:4711" }))).to.deep.equal([
        200, 429,
      ]);
      expect(await statuses(trusting, 1, "/", as({ forwardedFor: "203.0.113.2:4712" }))).to.deep.equal([429]);
      expect(await statuses(trusting, 1)).to.deep.equal([200]);
      expect(await statuses(trusting, 1, "/", as({ forwardedFor: "unknown" }))).to.deep.equal([429]);
      await using untrusting = await limitedApp((each) => each.use(rateLimit(once) as never), express);
      expect(await statuses(untrusting, 1, "/", as({ forwardedFor: "203.0.113.1" }))).to.deep.equal([200]);
      expect(await statuses(untrusting, 1, "/", as({ forwardedFor: "203.0.113.2" }))).to.deep.equal([429]);
    });
  });
}

describe("the identity of a caller in rateLimit()", () => {
  it("RATE-4 is the first 64 bits of an IPv6 address", () => {
    const same = [
      "2001:db8:0:1::1",
      "2001:db8:0:1:ffff:ffff:ffff:ffff",
      "2001:DB8::1:0:0:0:5",
      "2001:db8::1:0:0:192.0.2.1",
    ];
    expect(same.map(networkOf)).to.deep.equal(same.map(() => "2001:db8:0:1::/64"));
    expect(networkOf("2001:db8:0:2::1")).to.equal("2001:db8:0:2::/64");
    expect(networkOf("::1")).to.equal("0:0:0:0::/64");
    expect(networkOf("fe80::1%eth0")).to.equal("fe80:0:0:0::/64");
  });

  it("is the IPv4 address of a client that a dual-stack socket reports as IPv6", () => {
    for (const address of ["192.0.2.1", "::ffff:192.0.2.1", "::ffff:c000:201"]) {
      expect(networkOf(address), address).to.equal("192.0.2.1");
    }
  });

  it("has no network part if the address is not an IP address", () => {
    for (const text of ["", "unknown", "1.2.3", "1.2.3.4:80", "[::1]", ":::", "a".repeat(8192)]) {
      expect(networkOf(text), text).to.equal(undefined);
    }
  });

  it("is hashed when it is long or has braces, control characters or lone surrogates", async () => {
    const keys = await keysFor([
      "ann",
      "a:b:c",
      "x".repeat(64),
      "x".repeat(65),
      "{tag}",
      "}:{default:ip:127.0.0.1",
      "a\r\nSET x",
      "\ud800",
      `${"{:}".repeat(2730)}aa`,
      `${"{:}".repeat(2730)}ab`,
    ]);
    expect(keys.slice(0, 3)).to.deep.equal([
      "app:rl:{default:key:ann}",
      "app:rl:{default:key:a:b:c}",
      `app:rl:{default:key:${"x".repeat(64)}}`,
    ]);
    for (const key of keys.slice(3)) expect(key).to.match(/^app:rl:\{default:key#[\w-]{43}\}$/);
    expect(new Set(keys)).to.have.length(keys.length);
  });

  it("differs between kinds even if the values are equal", () => {
    const req = { headers: {}, socket: { remoteAddress: "192.0.2.1" } } as unknown as IncomingMessage;
    expect(identityOf(req, undefined)).to.equal("ip:192.0.2.1");
    expect(identityOf(req, "ip:192.0.2.1")).to.equal("key:ip:192.0.2.1");
  });

  it("is the same for all connections without an address, such as those of a Unix socket", () => {
    const req = { headers: {}, socket: {} } as unknown as IncomingMessage;
    expect(identityOf(req, undefined)).to.equal("ip:unknown");
  });

  it("is the result of key(), or the default if key() returns undefined", async () => {
    const key = (req: IncomingMessage): string | undefined => req.headers["x-api-key"] as string | undefined;
    const limit = rateLimit({ ...once, key });
    await using app = await limitedApp((each) => each.use(limit as never));
    expect(await statuses(app, 2, "/", { headers: { "X-Api-Key": "one" } })).to.deep.equal([200, 429]);
    expect(await statuses(app, 2, "/", { headers: { "X-Api-Key": "two" } })).to.deep.equal([200, 429]);
    expect(await statuses(app, 2)).to.deep.equal([200, 429]);
  });
});

/** Returns the keys that a store receives for identities. */
async function keysFor(identities: readonly string[]): Promise<readonly string[]> {
  const keys: string[] = [];
  const store: RateLimitStore = {
    take(key) {
      keys.push(key);
      return { isAdmitted: true, microTokens: 0 };
    },
  };
  let next = 0;
  const limit = rateLimit({ store, key: () => identities[next++] });
  await using server = await listen(
    createServer((req, res) => limit(req, res, () => res.end("{}"))) as never,
  );
  for (const _ of identities) await ask(server);
  return keys;
}

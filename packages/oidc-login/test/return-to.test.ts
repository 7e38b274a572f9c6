import type { LoginIdentity } from "@svc/oidc-login";
import { expect } from "chai";
import { localPath } from "../src/return-to.ts";
import { browser, start } from "@svc/test-support/openid";
import { hostileProvider } from "./support/hostile-provider.ts";
import { serve } from "./support/service.ts";

const local: readonly (readonly [string, string])[] = [
  ["/", "/"],
  ["/orders", "/orders"],
  ["/orders?page=2&q=a%20b#top", "/orders?page=2&q=a%20b#top"],
  ["/a/../b", "/b"],
  ["/grüße", "/gr%C3%BC%C3%9Fe"],
  ["/a//b", "/a//b"],
  ["/%09/evil.example", "/%09/evil.example"],
  ["/?next=https://evil.example", "/?next=https://evil.example"],
  ["/@evil.example", "/@evil.example"],
  ["/:80", "/:80"],
];

const elsewhere: readonly string[] = [
  "",
  "orders",
  "//evil.example",
  "///evil.example",
  "/\\evil.example",
  "\\/evil.example",
  "\\\\evil.example",
  "/a\\b",
  "/\t/evil.example",
  "/\n/evil.example",
  "\t//evil.example",
  " //evil.example",
  " /orders",
  "/orders ",
  "/\u0000",
  "/\u007f",
  "https://evil.example",
  "https:evil.example",
  "https:/evil.example",
  "javascript:alert(1)",
  "data:text/html,x",
  "?a",
  "#a",
  ".",
  "/.//evil.example",
  "/..//evil.example",
  "/a/..//evil.example",
  "/%2e//evil.example",
  `/${"a".repeat(1024)}`,
  `/${"ü".repeat(200)}`,
];

describe("return_to", () => {
  for (const [given, path] of local) {
    it(`may be ${JSON.stringify(given)} (OIDC-8)`, () => {
      expect(localPath(given)).to.equal(path);
      expect(localPath(path)).to.equal(path);
    });
  }

  for (const given of elsewhere) {
    it(`cannot be ${JSON.stringify(given).slice(0, 40)} (OIDC-8)`, () => {
      expect(localPath(given)).to.equal(undefined);
    });
  }

  it("falls back to / when it is missing, given twice, or not a path of this site (OIDC-8)", async () => {
    await using provider = await hostileProvider();
    await using service = await serve({ providers: { acme: provider.options } });
    const queries = [
      "",
      "?return_to=",
      "?return_to=//evil.example",
      "?return_to=/a&return_to=/b",
      "?return_to=%00",
    ];
    queries.push("?return_to=/%09/evil.example", "?return_to=%ff%fe", `?return_to=/${"a".repeat(10_000)}`);
    const found = [];
    for (const query of [...queries, "?return_to=/a%3Fb=1"]) {
      const ours = browser();
      const { state, nonce, location } = await start(ours, `${service.url}/auth/acme/start${query}`);
      // Search for the whole host name: a random state or nonce may contain `evil`, but never a dot.
      expect(location.href).not.to.contain("evil.example");
      provider.issue({ nonce });
      const response = await ours.open(`${service.url}/auth/acme/callback?code=c&state=${state}`);
      found.push(((await response.json()) as LoginIdentity).return_to);
    }
    expect(found).to.eql([...queries.map(() => "/"), "/a?b=1"]);
  });
});

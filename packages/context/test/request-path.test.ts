import type { IncomingMessage } from "node:http";
import { pathOf, routedPathOf, pathOfTarget } from "@svc/context";
import { expect } from "chai";

describe("the path of a request", () => {
  const cases: Readonly<Record<string, string>> = {
    "/orders/7": "/orders/7",
    "/orders/7?page=2": "/orders/7",
    "/orders#top": "/orders",
    "/orders?to=http://elsewhere/": "/orders",
    "http://user:password@host/orders?page=2": "/orders",
    "http://host": "/",
    "http://host?page=/2": "/",
    "?page=2": "/",
    "?to=http://elsewhere/": "/",
    "*": "*",
    "": "/",
  };

  for (const [target, path] of Object.entries(cases)) {
    it(`ERR-4 is ${path} for the target ${JSON.stringify(target)}`, () => {
      expect(pathOfTarget(target)).to.equal(path);
    });
  }

  it("ERR-4 includes the prefix that a router has removed", () => {
    const mounted = { url: "/7?page=2", originalUrl: "/orders/7?page=2" } as unknown as IncomingMessage;
    expect(pathOf(mounted)).to.equal("/orders/7");
    expect(pathOf({ url: "/7" } as IncomingMessage)).to.equal("/7");
  });

  it("is compared with routes only if Express reads the same path in the target", () => {
    for (const target of [
      "/admin?a=1",
      "http://host/admin",
      "HTTPS://host:8000/admin#x",
      "http://[::1]:80/admin",
    ])
      expect(routedPathOf(target), target).to.equal("/admin");
    for (const target of [
      "javascript://x/admin",
      "http://x;y/admin",
      "http://a@b/admin",
      "//x/admin",
      "*",
      "",
    ])
      expect(routedPathOf(target), target).to.not.equal("/admin");
  });
});

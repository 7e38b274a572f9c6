import { statedRouteTemplate } from "@svc/context";
import { rawRequest } from "@svc/test-support";
import { expect } from "chai";
import type { IncomingMessage, ServerResponse } from "node:http";
import { startGateway, startUpstream } from "./support/servers.ts";

const get = (target: string): string =>
  `GET ${target} HTTP/1.1\r\nHost: public.example\r\nConnection: close\r\n\r\n`;

describe("the path of a request", () => {
  it("selects the route with the longest prefix of whole segments", async () => {
    await using short = await startUpstream((_req, res) => res.end("short"));
    await using long = await startUpstream((_req, res) => res.end("long"));
    await using server = await startGateway({
      routes: [
        { prefix: "/api", targets: [short.url] },
        { prefix: "/api/admin", targets: [long.url] },
      ],
    });
    const bodies: Record<string, string> = {
      "/api": "short",
      "/api/": "short",
      "/api/x": "short",
      "/api?x=1": "short",
      "/api/administration": "short",
      "/api/admin": "long",
      "/api/admin?x": "long",
      "/api/admin/x": "long",
      "/apix": "own",
      "/ap": "own",
      "/": "own",
      "/API": "own",
      "/x/api": "own",
      "/%61pi": "own",
      "/api;x": "own",
      "/api%2fx": "own",
    };
    for (const [target, body] of Object.entries(bodies)) {
      const answer = await rawRequest(server.port, get(target));
      expect(answer.body, target).to.include(body);
      expect(answer.status, target).to.equal(200);
    }
  });

  it("gets 400 if, normalized, it belongs to a stricter route than the one it matches", async () => {
    await using upstream = await startUpstream();
    const targets = [upstream.url];
    await using server = await startGateway({
      routes: [
        { prefix: "/api", targets },
        { prefix: "/api/admin", targets, requireAuth: true },
      ],
    });
    const statuses: Record<string, number> = {
      "/api/admin/x": 401,
      "/api/ADMIN/x": 400,
      "/api/%61dmin/x": 400,
      "/api//admin/x": 400,
      "/api/admin;a=1/x": 400,
      "/api/admin%3ba=1": 400,
      "/api/admin%20": 400,
      "/api/%41DMIN%20;x//y": 400,
      "/api/administration": 200,
      "/api/x/admin": 200,
      "/api/x?y=/api/ADMIN": 200,
    };
    for (const [target, status] of Object.entries(statuses))
      expect((await rawRequest(server.port, get(target))).status, target).to.equal(status);
    expect(upstream.received).to.have.length(3);
  });

  it("is passed on unchanged, with its query", async () => {
    await using upstream = await startUpstream();
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
    const targets = [
      "/api?",
      "/api//x",
      "/api/a%20b?c=%2F..%2F../x",
      "/api/.a/..b/...",
      "/api/%2Ea",
      "/api/%C3%A4;v=1,2",
    ];
    for (const target of targets) await rawRequest(server.port, get(target));
    expect(upstream.received.map(({ url }) => url)).to.deep.equal(targets);
  });

  it("is passed on without the prefix with stripPrefix", async () => {
    await using upstream = await startUpstream();
    const routes = [{ prefix: "/api/v1", targets: [upstream.url], stripPrefix: true }];
    await using server = await startGateway({ routes });
    for (const target of ["/api/v1", "/api/v1/", "/api/v1/x?y=/api/v1", "/api/v1?y"]) {
      await rawRequest(server.port, get(target));
    }
    expect(upstream.received.map(({ url }) => url)).to.deep.equal(["/", "/", "/x?y=/api/v1", "/?y"]);
    expect((await rawRequest(server.port, get("/api/v1//evil.example/x"))).status).to.equal(400);
    expect(upstream.received).to.have.lengthOf(4);
  });

  it("gets 400 if the target could resolve it to a path outside the prefix", async () => {
    await using upstream = await startUpstream();
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
    const refused = [
      "/api/..",
      "/api/../admin",
      "/api/./x",
      "/api/.",
      "/api/x/..?y",
      "/api/%2e%2e/admin",
      "/api/.%2E/admin",
      "/api/%2e",
      "/api/..;x/admin",
      "/api/..%3bx/admin",
      "/api/%2e%2e;/admin",
      "/api/x%2fy",
      "/api/..%2Fadmin",
      "/api/..%5cadmin",
      "/api/x%5Cy",
      "/api/..\\admin",
      "/api/x#y",
      "/api/x?y#z",
      "//api/x",
      "///api",
      "//api/../x",
      "http://127.0.0.1/api/x",
      "HTTP://evil.example/api",
      "https://evil.example//api",
    ];
    for (const target of refused) {
      const answer = await rawRequest(server.port, get(target));
      expect(answer.status, target).to.equal(400);
    }
    const { detail } = JSON.parse((await rawRequest(server.port, get("/api/.."))).body) as { detail: string };
    expect(detail).to.equal(
      "the path has dot segments, encoded slashes or another form that the gateway does not pass on",
    );
    expect(upstream.received).to.deep.equal([]);
  });

  it("is not forwarded if it matches no prefix, or only after normalization", async () => {
    await using upstream = await startUpstream();
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
    for (const target of [
      "/x/../api",
      "/./api",
      "/api\\..\\x",
      "*",
      "/%2e/api",
      "api.example:443",
      "http://a.example",
    ]) {
      const method = target === "*" ? "OPTIONS" : "GET";
      await rawRequest(server.port, get(target).replace("GET", method));
    }
    await rawRequest(server.port, "CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(upstream.received).to.deep.equal([]);
  });

  it("is reported as the route template `<prefix>/*` in metrics and logs", async () => {
    await using upstream = await startUpstream();
    const seen: (string | undefined)[] = [];
    const before = (req: IncomingMessage, res: ServerResponse): void =>
      void res.on("close", () => seen.push(statedRouteTemplate(req)));
    await using server = await startGateway(
      { routes: [{ prefix: "/api", targets: [upstream.url] }] },
      { before },
    );
    for (const target of ["/api/x?y", "/api/..", "/own"]) await rawRequest(server.port, get(target));
    expect(seen).to.deep.equal(["/api/*", "/api/*", undefined]);
  });

  it("determines the prefix that routeOf() returns, or undefined if no route matches", async () => {
    await using server = await startGateway({
      routes: [
        { prefix: "/a", targets: ["http://127.0.0.1:1"] },
        { prefix: "/a/b", targets: ["http://127.0.0.1:1"] },
      ],
    });
    const routeOf = (url: string): string | undefined => server.gateway.routeOf({ url } as never);
    expect(routeOf("/a/x")).to.equal("/a");
    expect(routeOf("/a/b?x")).to.equal("/a/b");
    expect(routeOf("/b")).to.equal(undefined);
  });
});

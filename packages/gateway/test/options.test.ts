import { gateway, type GatewayOptions } from "@svc/gateway";
import { ConfigurationError, withNames } from "@svc/options";
import { expect } from "chai";

const targets = ["http://127.0.0.1:8010"];

function faultsOf(options: unknown): string[] {
  try {
    void gateway(options as GatewayOptions).stop();
    return [];
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.faults.map(({ key, message }) => `${key} ${message}`);
  }
}

const faultsOfRoute = (route: object): string[] =>
  faultsOf({ routes: [{ prefix: "/api", targets, ...route }] });

describe("the options of gateway()", () => {
  it("accept a list of routes and an object of routes by name", () => {
    expect(faultsOf({ routes: [{ prefix: "/api", targets }] })).to.deep.equal([]);
    expect(faultsOf({ routes: { api: { prefix: "/api", targets } } })).to.deep.equal([]);
  });

  it("accept any logger with info(), warn() and error(), such as the console", () => {
    expect(faultsOf({ routes: [], logger: console })).to.deep.equal([]);
    const { info, warn } = console;
    expect(faultsOf({ routes: [], logger: { info, warn } })[0]).to.match(/^logger .* it has no error\(\)$/);
  });

  it("require a prefix that begins with / and does not end with it", () => {
    for (const prefix of ["/api/", "api", "", "/"]) {
      expect(faultsOfRoute({ prefix }), prefix).to.deep.equal([
        `routes[0].prefix must begin with / and not end with it; it is ${JSON.stringify(prefix)}`,
      ]);
    }
  });

  it("reject a prefix with a query, an encoded character, a dot segment or an empty segment", () => {
    for (const prefix of [
      "/a?b",
      "/a%20b",
      "/a/../b",
      "/a/.",
      "/a//b",
      "/a#b",
      "/a\\b",
      "//a",
      "/a b",
      "/..;x",
    ]) {
      expect(faultsOfRoute({ prefix }), prefix).to.have.lengthOf(1);
      expect(faultsOfRoute({ prefix })[0], prefix).to.match(/^routes\[0\]\.prefix must consist of segments/);
    }
    expect(faultsOfRoute({ prefix: "/a.b/.well-known/~x" })).to.deep.equal([]);
  });

  it("reject two routes with the same prefix", () => {
    const route = { prefix: "/api", targets };
    expect(faultsOf({ routes: { one: route, two: route } })).to.deep.equal([
      'routes.two.prefix is the same as that of routes.one; it is "/api"',
    ]);
  });

  it("reject a target that is not an origin, without showing it", () => {
    const wrong = [
      "http://127.0.0.1:1/path",
      "http://127.0.0.1?x",
      "http://127.0.0.1#x",
      "http://user:secret@127.0.0.1",
      "http://@127.0.0.1",
      "ftp://127.0.0.1",
      "127.0.0.1:80",
      "http:/127.0.0.1",
      "http://",
      "http://a b",
      "",
    ];
    for (const target of wrong) {
      const [fault = "", ...others] = faultsOfRoute({ targets: [target] });
      expect(others).to.deep.equal([]);
      expect(fault, target).to.match(/^routes\[0\]\.targets must be a list in which each entry is an origin/);
      expect(fault, target).to.match(/\(the value is not shown\)$/);
    }
    expect(faultsOfRoute({ targets: ["https://[::1]:8443", "http://billing.internal/"] })).to.deep.equal([]);
  });

  it("reject an empty list of targets and a repeated target", () => {
    expect(faultsOfRoute({ targets: [] })).to.deep.equal(["routes[0].targets must have at least one origin"]);
    const twice = ["http://127.0.0.1:80", "http://127.0.0.1"];
    expect(faultsOfRoute({ targets: twice })).to.deep.equal(["routes[0].targets must not repeat an origin"]);
  });

  it("reject a target that is this service itself", () => {
    const options = {
      routes: { api: { prefix: "/api", targets: ["http://localhost"] } },
      self: ["http://localhost:80"],
    };
    expect(faultsOf(options)).to.deep.equal([
      "routes.api.targets must not contain this service itself, which would call itself without end",
    ]);
  });

  it("reject invalid limits and unknown options of a route in one error", () => {
    const faults = faultsOfRoute({ timeoutSeconds: 0, maxBodyBytes: -1, strip_prefix: true });
    expect(faults.map((fault) => fault.split(" ")[0])).to.deep.equal([
      "routes[0].strip_prefix",
      "routes[0].timeoutSeconds",
      "routes[0].maxBodyBytes",
    ]);
    expect(faultsOf({ routes: [null, "x"] })).to.not.be.empty;
    expect(faultsOf({ routes: "x" })).to.have.lengthOf(1);
    expect(faultsOf({})).to.have.lengthOf(1);
  });

  it("reject a trusted proxy that is not an address, a range or a known name", () => {
    for (const proxy of ["example.com", "10.0.0.0/33", "::1/129", "1.2.3.4/8/8", "1.2.3.4/x", "toString"]) {
      expect(faultsOf({ routes: [], trustedProxies: [proxy] })[0], proxy).to.match(
        /^trustedProxies must contain only/,
      );
    }
    const good = ["loopback", "uniquelocal", "linklocal", "10.0.0.0/8", "fd00::/8", "1.2.3.4", "::1"];
    expect(faultsOf({ routes: [], trustedProxies: good })).to.deep.equal([]);
  });

  it("are named by their keys in the file if a file has set them", () => {
    const names = { subject: "the service", of: (option: string) => `plugin.gateway.${option}` };
    const api = { prefix: "/api/", targets, timeoutSeconds: 0 };
    const twice = { one: { prefix: "/a", targets }, two: { prefix: "/a", targets } };
    const of = (routes: GatewayOptions["routes"]): string[] => faultsOf(withNames({ routes }, names));
    expect(of({ api: { prefix: "/api/", targets } })).to.deep.equal([
      'plugin.gateway.routes.api.prefix must begin with / and not end with it; it is "/api/"',
    ]);
    expect(of({ api })[0]).to.match(/^plugin\.gateway\.routes\.api\.timeout must be/);
    expect(of(twice)).to.deep.equal([
      'plugin.gateway.routes.two.prefix is the same as that of plugin.gateway.routes.one; it is "/a"',
    ]);
  });
});

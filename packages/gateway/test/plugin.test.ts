import { gatewayPlugin } from "@svc/gateway/plugin";
import { ConfigurationError, withNames } from "@svc/options";
import { collectingLogger, rejection } from "@svc/test-support";
import { expect } from "chai";

const names = { subject: "the service", of: (option: string) => `plugin.gateway.${option}` };

function start(routes: object): ReturnType<typeof gatewayPlugin.start> {
  const options = withNames({ routes }, names);
  return gatewayPlugin.start({
    options,
    logger: collectingLogger(),
    part: () => undefined,
    service: { origins: ["http://127.0.0.1:8000"] },
    systemPaths: () => ["/metrics"],
  } as never);
}

describe("the plugin `gateway`", () => {
  it("defines the keys of a route in the file", () => {
    const { each } = gatewayPlugin.options.keys.routes;
    expect(Object.values(each.keys).map(({ key }) => key)).to.deep.equal([
      "prefix",
      "targets",
      "strip_prefix",
      "preserve_host",
      "timeout",
      "connect_timeout",
      "max_body_bytes",
      "require_auth",
      "websocket",
      "critical",
    ]);
  });

  it("adds the gateway, its middleware, its check and a stop hook to the service", async () => {
    const parts = await start({ api: { prefix: "/api", targets: ["http://127.0.0.1:1"], critical: true } });
    const isForwarded = (url: string) => parts.hasOwnLimits?.({ url } as never);
    expect(["/api", "/api/a", "/else", "/metrics"].map(isForwarded)).to.deep.equal([
      true,
      true,
      false,
      false,
    ]);
    expect(parts.work?.map(({ name }) => name)).to.deep.equal(["gateway"]);
    expect(parts.checks?.map(({ name, critical }) => [name, critical])).to.deep.equal([["gateway", true]]);
    expect(parts.stop?.[0]).to.equal("close");
    await parts.stop?.[1](AbortSignal.timeout(1000));
  });

  it("refuses a target that is the service itself", async () => {
    const error = await rejection(async () =>
      start({ api: { prefix: "/api", targets: ["http://127.0.0.1:8000"] } }),
    );
    expect(error.message).to.contain("must not contain this service itself");
  });

  it("reports the faults of all routes under their keys in the file", async () => {
    const error = await rejection(async () =>
      start({
        api: { prefix: "/api/", targets: ["http://127.0.0.1:1"] },
        files: { prefix: "/files", targets: [], stripPrefix: 1 },
      }),
    );
    expect(error).to.be.instanceOf(ConfigurationError);
    expect((error as unknown as ConfigurationError).faults.map(({ key }) => key)).to.deep.equal([
      "plugin.gateway.routes.api.prefix",
      "plugin.gateway.routes.files.strip_prefix",
    ]);
  });
});

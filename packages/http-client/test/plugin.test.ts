import { httpPlugin } from "@svc/http-client/plugin";
import { expect } from "chai";

describe("the plugin `http`", () => {
  it("defines the configuration keys of an upstream", () => {
    const { each } = httpPlugin.options.keys.upstreams;
    expect(Object.values(each.keys).map(({ key }) => key)).to.deep.equal([
      "base_url",
      "forward_authorization",
      "connect_timeout",
      "headers_timeout",
      "body_timeout",
      "total_timeout",
      "attempts",
      "critical",
    ]);
  });
});

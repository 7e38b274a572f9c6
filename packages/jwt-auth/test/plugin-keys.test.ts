import type { JwtAuth } from "@svc/jwt-auth";
import { authOptions, authPlugin } from "@svc/jwt-auth/plugin";
import { ConfigurationError, withNames } from "@svc/options";
import type { PluginContext } from "@svc/plugin";
import { collectingLogger } from "@svc/test-support";
import { expect } from "chai";
import { everyKey } from "./support/fixed-keys.ts";
import { forge } from "./support/forge.ts";
import { keyFixture, pemOf } from "./support/key-fixtures.ts";

type Context = PluginContext<ReturnType<typeof authOptions.resolve>>;

/** Starts the plugin `auth` as a service does, with these options. */
async function startedWith(given: object): Promise<JwtAuth> {
  const of = (option: string): string => `plugin.auth.${option}`;
  const options = withNames(authOptions.resolve(given), { subject: "the service", of });
  const context: Partial<Context> = {
    options,
    service: { env: "prod", profile: "full" } as Context["service"],
    logger: collectingLogger(),
    part: () => undefined,
    nameOf: of,
  };
  const started = (await authPlugin.start(context as Context)) as { parts: { auth: JwtAuth } };
  return started.parts.auth;
}

describe("the option keys of the plugin auth", () => {
  it("accepts a key in any form, and a function (AUTH-38)", async () => {
    const at = Math.floor(Date.now() / 1000);
    const token = forge({ claims: { iat: at, exp: at + 900 } });
    const { publicKey } = keyFixture("rsa2048");
    for (const keys of [publicKey, pemOf("rsa2048"), publicKey.export({ format: "jwk" }), () => publicKey]) {
      const { verifier } = await startedWith({ keys });
      expect(await verifier.verify(token)).to.have.nested.property("principal.subject", "ada");
    }
    expect((await startedWith({ keys: everyKey() })).verifier.algorithms).to.eql(["RS256"]);
  });

  it("uses the configured algorithms, and rejects a key that does not fit them (AUTH-26)", async () => {
    const algorithms = ["ES256"];
    const { verifier } = await startedWith({ keys: pemOf("p256"), algorithms });
    expect(verifier.algorithms).to.eql(algorithms);
    try {
      await startedWith({ keys: pemOf("p256") });
    } catch (error) {
      expect(error).to.be.instanceOf(ConfigurationError);
      expect(String(error)).to.include("plugin.auth.keys: does not fit the algorithms: RS256 needs");
      return;
    }
    expect.fail("the plugin started");
  });
});

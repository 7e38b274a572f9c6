import type { ConfigurationError } from "@svc/options";
import { expect } from "chai";
import { createService, type ServiceOptions } from "@svc/express";

/** Returns the message of the ConfigurationError with which createService() refuses these options. */
export async function refusalOf(options: ServiceOptions, toml = ""): Promise<string> {
  const config = { toml: `[service]\nname = "orders"\nport = 0\n${toml}` };
  try {
    await createService({ config, env: {}, signals: false, ...options });
  } catch (error) {
    expect((error as ConfigurationError).code).to.equal("ERR_SVC_CONFIGURATION");
    return (error as ConfigurationError).message;
  }
  return expect.fail("nothing was refused");
}

import { loadConfig, type EnvironmentName, type ServiceSettings } from "@svc/config";
import { integer, optional, string, withDefault } from "@svc/options";
import { expect } from "chai";
import { databaseTable, type DatabaseSettings } from "./support/tables.ts";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

describe("the types of a configuration", () => {
  it("are inferred from the tables", () => {
    const config = loadConfig({
      text: '[plugins]\nenabled = ["database"]\n[plugin.database]\nurl = "x"\n[mail]\nhost = "m"',
      env: { SVC_APP_NAME: "shop" },
      plugins: { database: databaseTable },
      sections: {
        mail: {
          keys: {
            host: { key: "host", kind: string() },
            port: { key: "port", kind: withDefault(integer(), 25) },
            user: { key: "user", kind: optional(string()) },
          },
        },
      },
    });
    const service: Same<typeof config.service, ServiceSettings> = true;
    const env: Same<typeof config.service.env, EnvironmentName> = true;
    const names: Same<typeof config.plugins, readonly "database"[]> = true;
    const database: Same<typeof config.plugin.database, DatabaseSettings | undefined> = true;
    const host: Same<typeof config.sections.mail.host, string> = true;
    const port: Same<typeof config.sections.mail.port, number> = true;
    const user: Same<typeof config.sections.mail.user, string | undefined> = true;
    expect([service, env, names, database, host, port, user]).not.to.include(false);
    expect(config.sections.mail).to.deep.equal({ host: "m", port: 25, user: undefined });
    // @ts-expect-error -- cache has no table
    expect(config.plugin.cache).to.equal(undefined);
  });
});

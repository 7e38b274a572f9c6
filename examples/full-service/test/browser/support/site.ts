import { globSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testDatabase, testPostgresServer } from "@svc/dev-services";
import { serviceUrl } from "../../../src/database-role.ts";
import { configuration } from "../../../src/configuration.ts";
import { type DemoProvider, startDemoProvider } from "../../../src/demo-provider.ts";
import { secret } from "../../support/caller.ts";
import { type TestBrowser, testBrowser } from "./browser.ts";
import { type Certificate, certificateFor } from "./certificate.ts";
import { type ServiceProcess, startServiceProcess } from "./service-process.ts";
import { startTlsProxy } from "./tls-proxy.ts";

/** The service's host name in browsers; the provider is at 127.0.0.1, which is another site. */
const host = "expenses.test";

/** Hosts of other pages: on another site, and below the same domain. */
export const otherHosts = { foreign: "elsewhere.test", neighbour: "neighbour.expenses.test" } as const;

/** The service in staging behind a proxy, a provider, and a browser; for a `describe`. */
export interface Site extends TestBrowser {
  /** `https://expenses.test:<port>`. */
  readonly origin: string;
  /** The key and certificate for all these hosts, for a server that a test starts on one of `otherHosts`. */
  readonly certificate: Certificate;
  /** The URL of the service's database. */
  readonly databaseUrl: string;
  /** The lines that the service has logged so far. */
  logged(): string;
}

/** Whether an installed PostgreSQL has pgvector, which the search needs. */
export const hasVectorServer: boolean =
  globSync("/usr/{lib,share}/postgresql/*/{lib/vector.so,extension/vector.control}").length > 0;

/** Options of {@link testSite}. */
export interface SiteOptions {
  /** Whether there is a second provider, `broken`, which browsers can reach and the service cannot. Default false. */
  readonly hasBroken?: boolean | undefined;
  /** Whether the database is on a server with pgvector, if one is installed. Default false. */
  readonly hasSearch?: boolean | undefined;
  /** Whether the verification of the totals recomputes those that differ. Default true. */
  readonly repairs?: boolean | undefined;
}

/**
 * For a `describe`: starts all parts, or skips the tests as `testBrowser()` does.
 *
 * @param name the name of the database
 */
export function testSite(
  name: string,
  { hasBroken = false, hasSearch = false, repairs = true }: SiteOptions = {},
): Site {
  const certificate = certificateFor([host, ...Object.values(otherHosts), "127.0.0.1"]);
  const browser = testBrowser([certificate]);
  const database =
    hasSearch && hasVectorServer
      ? testPostgresServer({ only: "system", database: "expenses" })
      : testDatabase({ name: `browser ${name}` });
  const toStop: (() => Promise<void> | void)[] = [];
  let running:
    { readonly origin: string; readonly databaseUrl: string; readonly service: ServiceProcess } | undefined;

  before("the service, a proxy and a provider", async function () {
    this.timeout(60_000);
    const folder = mkdtempSync(join(tmpdir(), "svc-browser-"));
    toStop.push(() => rmSync(folder, { recursive: true, force: true }));
    const authority = join(folder, "authority.pem");
    writeFileSync(authority, certificate.cert);
    const proxy = await startTlsProxy(certificate);
    toStop.push(() => proxy.stop());
    const origin = `https://${host}:${proxy.port}`;
    const redirectUris = ["demo", "broken"].map((each) => `${origin}/auth/${each}/callback`);
    const provider = await startDemoProvider({ redirectUris, tls: certificate });
    toStop.push(() => provider.stop());
    const file = join(folder, "service.toml");
    const [redirectUri = "", ofBroken = ""] = redirectUris;
    const broken = hasBroken ? brokenProvider(provider, ofBroken) : "";
    const toml = stagingConfiguration(provider, redirectUri) + broken;
    writeFileSync(file, repairs ? toml : toml.replace(/^repair = true$/m, "repair = false"));
    const databaseUrl = await serviceUrl(database.url);
    const service = await startServiceProcess(file, {
      SVC_ENV: "staging",
      SVC_PORT: "0",
      SVC_AUTH_SECRET: secret,
      DATABASE_URL: databaseUrl,
      NODE_EXTRA_CA_CERTS: authority,
    });
    toStop.push(() => service.stop());
    proxy.forwardTo(service.port);
    running = { origin, databaseUrl, service };
  });

  after("stop them", async function () {
    this.timeout(30_000);
    for (const stop of toStop.splice(0).toReversed()) await stop();
  });

  const started = (): NonNullable<typeof running> => {
    if (running === undefined) throw new Error("the site runs only inside of tests");
    return running;
  };
  return {
    certificate,
    get origin() {
      return started().origin;
    },
    get databaseUrl() {
      return started().databaseUrl;
    },
    visitor: (options = {}) => browser.visitor({ baseURL: started().origin, ...options }),
    logged: () => started().service.output(),
  };
}

/** Returns the example's configuration in the form of a deployment. */
function stagingConfiguration(provider: DemoProvider, redirectUri: string): string {
  return configuration({ demo: { provider, redirectUri } })
    .toml.replace(/^\[service\]$/m, `[service]\ntrusted_proxies = ["loopback"]\ntrusted_hosts = ["${host}"]`)
    .replace(/^base_domain = .*$/m, `base_domain = "${host}"`);
}

function brokenProvider(
  { clientId, clientSecret, issuer, authorizationEndpoint }: DemoProvider,
  redirectUri: string,
): string {
  return `
[plugin.auth.providers.broken]
client_id = "${clientId}"
client_secret = "${clientSecret}"
redirect_uri = "${redirectUri}"
issuer = "${issuer}"
authorization_endpoint = "${authorizationEndpoint}"
token_endpoint = "https://127.0.0.1:1/token"
jwks_uri = "https://127.0.0.1:1/jwks"
`;
}

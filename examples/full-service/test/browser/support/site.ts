import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testDatabase } from "@svc/dev-services";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { serviceUrl } from "../../../src/database-role.ts";
import { demoConfiguration } from "../../../src/demo-configuration.ts";
import { type DemoProvider, startDemoProvider } from "../../../src/demo-provider.ts";
import { secret } from "../../support/caller.ts";
import { type Certificate, certificateFor } from "./certificate.ts";
import { findChromium, launchChromium } from "./chromium.ts";
import { type ServiceProcess, startServiceProcess } from "./service-process.ts";
import { startTlsProxy } from "./tls-proxy.ts";

/** Where the service is for browsers; the provider is at 127.0.0.1, which is another site. */
const host = "expenses.test";

/** Where pages of others are: on another site, and below the same domain. */
export const otherHosts = { foreign: "elsewhere.test", neighbour: "neighbour.expenses.test" } as const;

/** The service in staging behind a proxy, the provider, and a browser; while the tests of a `describe` run. */
export interface Site {
  /** `https://expenses.test:<port>`. */
  readonly origin: string;
  /** The key and certificate of every host here, for a server that a test adds: on one of `otherHosts`, say. */
  readonly certificate: Certificate;
  /** Somebody's browser, with cookies of its own. It is closed after the test. */
  visitor(options?: BrowserContextOptions): Promise<Visitor>;
  /** What the service wrote so far. */
  output(): string;
}

/** A browser with one page open. */
export interface Visitor {
  readonly context: BrowserContext;
  readonly page: Page;
}

/** For a `describe`: starts it all; skipped and said so where there is no Chromium, which fails with `CI=true`. */
export function testSite(name: string): Site {
  const database = testDatabase({ name: `browser ${name}` });
  const toStop: (() => Promise<unknown> | void)[] = [];
  const contexts: BrowserContext[] = [];
  let running:
    { origin: string; certificate: Certificate; service: ServiceProcess; browser: Browser } | undefined;

  before("a browser and what it looks at", async function () {
    this.timeout(60_000);
    const executable = findChromium();
    if (executable === undefined) {
      const message = "no chromium is on PATH; on Debian: apt-get install chromium";
      if (process.env["CI"] === "true") throw new Error(message);
      process.stderr.write(`skipped: ${message}\n`);
      this.skip();
    }
    const certificate = certificateFor([host, ...Object.values(otherHosts), "127.0.0.1"]);
    const folder = mkdtempSync(join(tmpdir(), "svc-browser-"));
    toStop.push(() => rmSync(folder, { recursive: true, force: true }));
    const authority = join(folder, "authority.pem");
    writeFileSync(authority, certificate.cert);
    const launched = launchChromium(executable, [certificate]);
    toStop.push(() =>
      launched.then(
        (browser) => browser.close(),
        () => undefined,
      ),
    );
    const proxy = await startTlsProxy(certificate);
    toStop.push(() => proxy.stop());
    const origin = `https://${host}:${proxy.port}`;
    const redirectUri = `${origin}/auth/demo/callback`;
    const provider = await startDemoProvider({ redirectUris: [redirectUri], tls: certificate });
    toStop.push(() => provider.stop());
    const file = join(folder, "service.toml");
    writeFileSync(file, stagingConfiguration(provider, redirectUri));
    const service = await startServiceProcess(file, {
      SVC_ENV: "staging",
      SVC_PORT: "0",
      SVC_AUTH_SECRET: secret,
      DATABASE_URL: await serviceUrl(database.url),
      NODE_EXTRA_CA_CERTS: authority,
    });
    toStop.push(() => service.stop());
    proxy.forwardTo(service.port);
    running = { origin, certificate, service, browser: await launched };
  });

  afterEach("close what the test opened", async () => {
    await Promise.all(contexts.splice(0).map((context) => context.close()));
  });

  after("stop it all", async function () {
    this.timeout(30_000);
    for (const stop of toStop.splice(0).toReversed()) await stop();
  });

  const started = (): NonNullable<typeof running> => {
    if (running === undefined) throw new Error("the site runs only inside of tests");
    return running;
  };
  return {
    get origin() {
      return started().origin;
    },
    get certificate() {
      return started().certificate;
    },
    async visitor(options = {}) {
      const context = await started().browser.newContext({ baseURL: started().origin, ...options });
      contexts.push(context);
      // A page that is not there in time is not there.
      context.setDefaultTimeout(10_000);
      return { context, page: await context.newPage() };
    },
    output: () => started().service.output(),
  };
}

/** The file of the example as a deployment would have it. */
function stagingConfiguration(provider: DemoProvider, redirectUri: string): string {
  return demoConfiguration(provider, redirectUri)
    .toml.replace(/^\[service\]$/m, `[service]\ntrusted_proxies = ["loopback"]\ntrusted_hosts = ["${host}"]`)
    .replace(/^base_domain = .*$/m, `base_domain = "${host}"`);
}

import { openSync, closeSync, writeSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "@svc/dev-services";
import { createService, type Service } from "@svc/express";
import { serviceUrl } from "../src/database-role.ts";
import { type DemoProvider, startDemoProvider } from "../src/demo-provider.ts";
import { keysFor, probesFor } from "./kit-files.ts";
import { refuseInProduction, testModeService } from "./service.ts";
import { createSigningKeys } from "./signing-keys.ts";
import { newSwitches } from "./switches.ts";

/** Two replicas of the example in its test mode, and the files that the kit needs to check them. */
export interface TestMode extends AsyncDisposable {
  readonly url: string;
  readonly replicaUrl: string;
  readonly keysFile: string;
  readonly probesFile: string;
  readonly logFile: string;
  /** The address at which the kit receives the spans of the first replica, as `host:port`. */
  readonly otlpAddress: string;
  /** The address at which the kit acts as the service behind the gateway, as `host:port`. */
  readonly upstreamAddress: string;
}

/** Use the lowest cost of scrypt, because the kit signs in often. */
const cheapPasswords = { cost: { N: 16, r: 1, p: 1 } };

/**
 * Starts the example in its test mode.
 *
 * @param databaseUrl URL of an empty database, with a superuser
 * @param env more environment variables, for example `SVC_ENV`
 * @throws ConfigurationError when `SVC_ENV` is `prod`
 */
export async function startTestMode(
  databaseUrl: string,
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<TestMode> {
  refuseInProduction(env["SVC_ENV"]);
  await using cleanup = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "expenses-test-mode-"));
  cleanup.defer(() => rm(folder, { recursive: true }));
  const file = (name: string): string => join(folder, name);
  const keys = await createSigningKeys(file("signing-keys.json"));
  const port = await freePort();
  const otlpAddress = `127.0.0.1:${await freePort()}`;
  const upstreamAddress = `127.0.0.1:${await freePort()}`;
  const provider = await startDemoProvider({ redirectUris: [`http://127.0.0.1:${port}/auth/demo/callback`] });
  cleanup.defer(() => provider.stop());
  const log = openSync(file("service.log"), "w");
  cleanup.defer(() => closeSync(log));
  await writeFile(file("keys.json"), JSON.stringify(keysFor(keys.first)), { mode: 0o600 });
  await writeFile(file("probes.json"), JSON.stringify(probesFor(provider)));

  const databaseOfService = await serviceUrl(databaseUrl);
  const switches = newSwitches();

  async function startReplica(
    own: Readonly<Record<string, string>>,
    write: (line: string) => void,
  ): Promise<Service> {
    const service = await createService({
      ...testModeService(
        { ...env, DATABASE_URL: databaseOfService, ...ofFiles(provider), ...own },
        {
          seed: true,
          demoUsers: true,
          passwords: cheapPasswords,
          // The folder of an embedded database, which a replica opens at the first search if the server has no pgvector.
          embeddedSearch: { dataDir: file(`search-${own["SVC_PORT"]}`) },
          keys,
          switches,
        },
      ),
      signals: false,
      logDestination: { write },
    });
    cleanup.use(service);
    await service.start();
    return service;
  }
  function ofFiles({ issuer, clientId, clientSecret }: DemoProvider): Readonly<Record<string, string>> {
    return {
      TEST_MODE_KEYS: file("signing-keys.json"),
      TEST_MODE_PROVIDER: issuer,
      TEST_MODE_CLIENT: clientId,
      TEST_MODE_CLIENT_SECRET: clientSecret,
      TEST_MODE_UPSTREAM: upstreamAddress,
    };
  }
  // The kit checks that neither the user-info nor the query of the endpoint is shown (TRACE-24).
  const endpoint = `http://kit:secret@${otlpAddress}?key=secret`;
  const first = await startReplica(
    { SVC_PORT: String(port), SVC_TELEMETRY_ENDPOINT: endpoint },
    (line) => void writeSync(log, line),
  );
  // Without an endpoint, so that the kit also checks the rules about a service that exports no spans.
  const second = await startReplica({ SVC_PORT: "0" }, () => undefined);
  await untilReady(first);
  const running = cleanup.move();
  return {
    url: `http://127.0.0.1:${first.address?.port}`,
    replicaUrl: `http://127.0.0.1:${second.address?.port}`,
    keysFile: file("keys.json"),
    probesFile: file("probes.json"),
    logFile: file("service.log"),
    otlpAddress,
    upstreamAddress,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

const readyMs = 20_000;

/**
 * Resolves when the tables exist and the worker runs, or after a timeout. After a timeout the kit reports what is missing.
 */
async function untilReady({ health }: Service): Promise<void> {
  const deadline = performance.now() + readyMs;
  for (;;) {
    const { checks } = await health.report();
    if (Object.values(checks).every(({ healthy }) => healthy) || performance.now() > deadline) return;
    await sleep(50);
  }
}

import { createService } from "@svc/express";
import { createServer } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { announce, answerQuestions, listenAndAnnounce, settingsOfParent } from "../harness/within-service.ts";

export interface ReadinessSettings {
  readonly checkMs: number;
  /** Whether every request to `/ready` runs the check. */
  readonly naive: boolean;
}

const { checkMs, naive } = settingsOfParent<ReadinessSettings>();
let probes = 0;
answerQuestions({ probes: () => probes });

async function probe(): Promise<{ readonly healthy: boolean; readonly detail: string }> {
  probes += 1;
  await delay(checkMs);
  return { healthy: true, detail: "connected" };
}

async function asBuilt(): Promise<void> {
  const service = await createService({
    env: {},
    config: { toml: '[service]\nname = "readiness"\nport = 0\n[logging]\nlevel = "WARN"\n' },
    checks: [{ name: "dependency", critical: true, check: probe }],
  });
  await service.start();
  announce(service.address?.port);
}

if (naive) listenAndAnnounce(createServer((_req, res) => void probe().then((each) => res.end(each.detail))));
else void asBuilt();

import { createService } from "@svc/express";
import { createServer } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { announce, listenAndAnnounce, settingsOfParent } from "../harness/within-service.ts";

export interface ReplicaSettings {
  readonly drainDelaySeconds: number;
  /** Whether to use a plain Node server, which exits at once on SIGTERM. */
  readonly plain: boolean;
}

const { drainDelaySeconds, plain } = settingsOfParent<ReplicaSettings>();

const page = Buffer.alloc(32 * 1024 * 1024, "a");

async function uploadedBytes(body: AsyncIterable<Uint8Array>): Promise<number> {
  let bytes = 0;
  for await (const chunk of body) bytes += chunk.length;
  return bytes;
}

async function asBuilt(): Promise<void> {
  const service = await createService({
    env: {},
    config: {
      toml: `
        [service]
        name = "replica"
        port = 0
        drain_delay = ${drainDelaySeconds}
        shutdown_timeout = 20
        [plugin.observability]
        access_log = false
      `,
    },
    routes(app) {
      app.get("/work", async (_req, res) => {
        await delay(30);
        res.json({ ok: true });
      });
      app.get("/slow", async (req, res) => {
        await delay(Number(req.query["ms"]));
        res.json({ ok: true });
      });
      app.get("/download", (_req, res) => void res.end(page));
      app.put("/upload", async (req, res) => {
        res.json({ bytes: await uploadedBytes(req) });
      });
    },
  });
  for (const phase of ["intake", "work", "flush", "close"] as const) {
    service.onStop(phase, () => delay(20));
  }
  await service.start();
  announce(service.address?.port);
}

function withoutService(): void {
  const server = createServer((req, res) => {
    void (async () => {
      const { pathname, searchParams } = new URL(req.url ?? "", "http://replica");
      if (pathname === "/work") await delay(30);
      if (pathname === "/slow") await delay(Number(searchParams.get("ms")));
      if (pathname === "/download") {
        res.end(page);
        return;
      }
      res.setHeader("Content-Type", "application/json");
      res.end(JSON.stringify({ bytes: await uploadedBytes(req) }));
    })();
  });
  process.on("SIGTERM", () => process.exit(0));
  listenAndAnnounce(server);
}

if (plain) withoutService();
else void asBuilt();

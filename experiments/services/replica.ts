import type { Express } from "express";
import { createServer } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { announce, listenAndAnnounce, settingsOfParent } from "../harness/within-service.ts";

export interface ReplicaSettings {
  readonly drainDelaySeconds: number;
  /** Whether to use a plain Node server, which exits immediately on SIGTERM. */
  readonly plain: boolean;
  /** Default: a free port. */
  readonly port?: number;
  /** Milliseconds after SIGTERM from which requests count as late. Default: no request does. */
  readonly lateMs?: number;
}

const { drainDelaySeconds, plain, port = 0, lateMs = Infinity } = settingsOfParent<ReplicaSettings>();

/** Returns the body of a download. */
const page = (): Buffer => Buffer.alloc(32 * 1024 * 1024, "a");

async function uploadedBytes(body: AsyncIterable<Uint8Array>): Promise<number> {
  let bytes = 0;
  for await (const chunk of body) bytes += chunk.length;
  return bytes;
}

/** Executes an order, and then prints it, so that the experiment knows it even if this process is killed. */
async function execute(order: string): Promise<void> {
  await delay(30);
  process.stdout.write(`${JSON.stringify({ order })}\n`);
}

/** Counts the requests that arrive late, other than those for `/ready`. */
function countLate(app: Pick<Express, "use">): () => number {
  let lateAt = Infinity;
  let late = 0;
  process.on("SIGTERM", () => (lateAt = performance.now() + lateMs));
  app.use(({ path }, _res, next) => {
    if (performance.now() > lateAt && path !== "/ready") late += 1;
    next();
  });
  return () => late;
}

async function asBuilt(): Promise<void> {
  // Load it only here, because a plain server starts several times faster without it.
  const { createService } = await import("@svc/express");
  let late = (): number => 0;
  const service = await createService({
    env: {},
    config: {
      toml: `
        [service]
        name = "replica"
        port = ${port}
        drain_delay = ${drainDelaySeconds}
        shutdown_timeout = 20
        [plugin.observability]
        access_log = false
      `,
    },
    routes(app) {
      late = countLate(app);
      app.post("/orders/:order", async (req, res) => {
        await execute(req.params.order);
        res.json({ ok: true });
      });
      app.get("/work", async (_req, res) => {
        await delay(30);
        res.json({ ok: true });
      });
      app.get("/slow", async (req, res) => {
        await delay(Number(req.query["ms"]));
        res.json({ ok: true });
      });
      app.get("/download", (_req, res) => void res.end(page()));
      app.put("/upload", async (req, res) => {
        res.json({ bytes: await uploadedBytes(req) });
      });
    },
  });
  for (const phase of ["intake", "work", "flush", "close"] as const) {
    service.onStop(phase, () => delay(20));
  }
  service.onStop("close", () => void process.stdout.write(`${JSON.stringify({ late: late() })}\n`));
  await service.start();
  announce(service.address?.port);
}

function withoutService(): void {
  const server = createServer((req, res) => {
    void (async () => {
      const { pathname, searchParams } = new URL(req.url ?? "", "http://replica");
      if (pathname === "/work") await delay(30);
      if (pathname.startsWith("/orders/")) await execute(pathname.slice("/orders/".length));
      if (pathname === "/slow") await delay(Number(searchParams.get("ms")));
      if (pathname === "/download") {
        res.end(page());
        return;
      }
      res.setHeader("Content-Type", "application/json");
      res.end(JSON.stringify({ bytes: await uploadedBytes(req) }));
    })();
  });
  process.on("SIGTERM", () => process.exit(0));
  listenAndAnnounce(server, port);
}

if (plain) withoutService();
else void asBuilt();

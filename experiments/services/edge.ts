import { createService } from "@svc/express";
import { createServer } from "node:http";
import { announce, listenAndAnnounce, settingsOfParent } from "../harness/within-service.ts";

export interface EdgeSettings {
  readonly headersTimeoutSeconds: number;
  readonly receiveTimeoutSeconds: number;
  /** Whether to use Node's HTTP server with its defaults. */
  readonly plain: boolean;
}

const settings = settingsOfParent<EdgeSettings>();
// The body is larger than the buffers of the system for a connection whose client does not read.
const page = Buffer.alloc(32 * 1024 * 1024, "a");

async function asBuilt(): Promise<void> {
  const service = await createService({
    env: {},
    config: {
      toml: `
        [service]
        name = "edge"
        port = 0
        headers_timeout = ${settings.headersTimeoutSeconds}
        receive_timeout = ${settings.receiveTimeoutSeconds}
        shutdown_timeout = 2
        [logging]
        level = "WARN"
      `,
    },
    routes(app) {
      app.post("/things", (_req, res) => void res.json({ ok: true }));
      app.get("/page", (_req, res) => void res.type("text").end(page));
    },
  });
  await service.start();
  announce(service.address?.port);
}

function withoutService(): void {
  process.on("SIGTERM", () => process.exit(0));
  listenAndAnnounce(
    createServer((req, res) => {
      if (req.url === "/page") {
        res.end(page);
        return;
      }
      req.resume();
      req.on("end", () => res.end("{}"));
    }),
  );
}

if (settings.plain) withoutService();
else void asBuilt();

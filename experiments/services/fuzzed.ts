import { createService } from "@svc/express";
import { bodyOf, requireContentType } from "@svc/json-body";
import { createServer, type IncomingMessage } from "node:http";
import { announce, answerQuestions, listenAndAnnounce, settingsOfParent } from "../harness/within-service.ts";

export interface FuzzedSettings {
  readonly maxBody: number;
  readonly variant: string;
}

const { maxBody, variant } = settingsOfParent<FuzzedSettings>();
let reached: (readonly [port: number, target: string])[] = [];
answerQuestions({
  reached() {
    const told = reached;
    reached = [];
    return told;
  },
});

function reach(req: IncomingMessage & { originalUrl?: string }): void {
  reached.push([req.socket.remotePort ?? 0, (req.originalUrl ?? req.url ?? "").slice(0, 100)]);
  const id = String(req.headers["x-request-id"]);
  if (variant === "broken-handler" && /[^\w-]/.test(id)) throw new TypeError("this was not expected");
  if (variant === "broken-raw-log") process.stdout.write(`${req.method} by ${id}\n`);
}

async function main(): Promise<void> {
  const service = await createService({
    env: {},
    config: {
      toml: `
        [service]
        name = "fuzzed"
        port = 0
        headers_timeout = 1
        receive_timeout = 1.5
        request_timeout = 10
        max_body_bytes = ${maxBody}
        [logging]
        level = "DEBUG"
      `,
    },
    routes(app) {
      app.get("/things/:id", (req, res) => {
        reach(req);
        res.json({ id: req.params.id, query: req.query });
      });
      app.put("/things/:id", requireContentType("application/json"), (req, res) => {
        reach(req);
        res.json({ id: req.params["id"], body: bodyOf(req) });
      });
      app.post("/things", requireContentType("application/json"), (req, res) => {
        reach(req);
        res.status(201).json({ body: bodyOf(req) });
      });
    },
  });
  if (variant === "broken-plain-server") {
    listenAndAnnounce(createServer(service.app));
    return;
  }
  await service.start();
  announce(service.address?.port);
}

void main();

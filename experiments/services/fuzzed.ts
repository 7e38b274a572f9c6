import { createService } from "@svc/express";
import { bodyOf, requireContentType } from "@svc/json-body";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { Socket } from "node:net";
import { announce, answerQuestions, listenAndAnnounce, settingsOfParent } from "../harness/within-service.ts";

export interface FuzzedSettings {
  readonly maxBody: number;
  readonly variant: string;
}

const { maxBody, variant } = settingsOfParent<FuzzedSettings>();
let reached: (readonly [port: number, turn: number, target: string])[] = [];
/** The number of connections from each client port: the system assigns a port again as soon as it is free. */
let turns = new Map<number, number>();
const turnOf = new WeakMap<Socket, number>();
answerQuestions({
  reached() {
    const result = reached;
    reached = [];
    turns = new Map();
    return result;
  },
});

function reach(req: IncomingMessage & { originalUrl?: string }): void {
  reached.push([
    req.socket.remotePort ?? 0,
    turnOf.get(req.socket) ?? 0,
    (req.originalUrl ?? req.url ?? "").slice(0, 100),
  ]);
  const id = String(req.headers["x-request-id"]);
  if (variant === "broken-handler" && /[^\w-]/.test(id)) throw new TypeError("this was not expected");
  if (variant === "broken-raw-log") process.stdout.write(`${req.method} by ${id}\n`);
}

function countTurns(server: Server): void {
  server.on("connection", (socket: Socket) => {
    const port = socket.remotePort ?? 0;
    const turn = turns.get(port) ?? 0;
    turns.set(port, turn + 1);
    turnOf.set(socket, turn);
  });
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
    const plain = createServer(service.app);
    countTurns(plain);
    listenAndAnnounce(plain);
    return;
  }
  countTurns(service.server);
  await service.start();
  announce(service.address?.port);
}

void main();

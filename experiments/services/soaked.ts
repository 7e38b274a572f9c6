import { createService } from "@svc/express";
import { Counter } from "prom-client";
import { announce, answerQuestions, settingsOfParent } from "../harness/within-service.ts";
import { memoryBytes } from "../harness/memory.ts";

export interface SoakedSettings {
  readonly variant: string;
}

const { variant } = settingsOfParent<SoakedSettings>();
const kept = new Map<string, string>();
const page = "a page that is remembered for ever ".repeat(4800);

async function main(): Promise<void> {
  const service = await createService({
    env: {},
    config: { toml: '[service]\nname = "soaked"\nport = 0\n[logging]\nlevel = "INFO"\n' },
    routes(app, { metrics }) {
      const paths = new Counter({
        name: "http_paths_total",
        help: "Requests by path, a label that grows without bound.",
        labelNames: ["path"],
        registers: metrics === undefined ? [] : [metrics.registry],
      });
      app.get("/things/:id", (req, res) => {
        const { id } = req.params;
        if (variant === "broken-cache") kept.set(id, Buffer.from(`${id} ${page}`).toString("latin1"));
        if (variant === "broken-labels") paths.inc({ path: req.path });
        res.json({ id, query: req.query });
      });
      app.post("/things", (req, res) => void res.status(201).json(req.body));
    },
  });
  answerQuestions({
    memory: memoryBytes,
    async series() {
      const text = (await service.metrics?.registry.metrics()) ?? "";
      return text.split("\n").filter((line) => line.startsWith("http_")).length;
    },
  });
  await service.start();
  announce(service.address?.port);
}

void main();

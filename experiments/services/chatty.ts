import { createService } from "@svc/express";
import { writeSync } from "node:fs";
import { announce, answerQuestions, settingsOfParent } from "../harness/within-service.ts";
import { memoryBytes } from "../harness/memory.ts";

export interface ChattySettings {
  readonly linesPerRequest: number;
  readonly variant: string;
}

const { linesPerRequest, variant } = settingsOfParent<ChattySettings>();
const filler = "x".repeat(1000);
answerQuestions({ memory: memoryBytes });

const destinations: Readonly<Record<string, { write(line: string): void }>> = {
  "broken-unbounded": { write: (line) => void process.stdout.write(line) },
  "broken-blocking": { write: (line) => void writeSync(1, line) },
};

async function main(): Promise<void> {
  const service = await createService({
    env: {},
    config: { toml: '[service]\nname = "chatty"\nport = 0\n' },
    logDestination: destinations[variant],
    routes(app, { log }) {
      app.get("/chat", (_req, res) => {
        for (let i = 0; i < linesPerRequest; i++) log.info({ filler }, "chatter");
        res.json({ ok: true });
      });
    },
  });
  await service.start();
  announce(service.address?.port);
}

void main();

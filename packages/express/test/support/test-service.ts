import { once } from "node:events";
import express5 from "express";
import { createService, type Service, type ServiceOptions } from "@svc/express";

/** A parsed log line. */
export type LogLine = Readonly<Record<string, unknown>>;

/** A service that listens on a free port and stores its log lines. */
export interface TestService extends AsyncDisposable {
  readonly service: Service;
  readonly url: string;
  readonly port: number;
  readonly lines: LogLine[];
  /** Resolves with the first log line, past or future, that `fits` accepts. */
  line(fits: (line: LogLine) => boolean): Promise<LogLine>;
}

/** Options of a service named `test` on a free port; `toml` is added to its `[service]`, and `config` replaces the whole file. */
export interface TestServiceOptions extends ServiceOptions {
  readonly toml?: string | undefined;
}

/** Creates a service that does not listen, for supertest and for tests of errors in createService(). */
export async function makeService({ toml = "", ...options }: TestServiceOptions = {}): Promise<{
  readonly service: Service;
  readonly lines: LogLine[];
  line(fits: (line: LogLine) => boolean): Promise<LogLine>;
}> {
  const lines: LogLine[] = [];
  const waiting = new Set<() => void>();
  const service = await createService({
    config: { toml: `[service]\nname = "test"\nport = 0\n${toml}` },
    env: {},
    signals: false,
    app: express5(),
    logDestination: {
      write(text) {
        lines.push(JSON.parse(text) as LogLine);
        for (const wake of waiting) wake();
      },
    },
    ...options,
  });
  async function line(fits: (line: LogLine) => boolean): Promise<LogLine> {
    for (;;) {
      const found = lines.find(fits);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          waiting.delete(wake);
          resolve();
        };
        waiting.add(wake);
      });
    }
  }
  return { service, lines, line };
}

/** Creates a service and starts it. Disposal stops it. */
export async function startService(options?: TestServiceOptions): Promise<TestService> {
  const made = await makeService(options);
  await made.service.start();
  const port = made.service.address?.port ?? 0;
  return {
    ...made,
    port,
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      made.service.server.closeAllConnections();
      await made.service.stop();
      if (made.service.server.listening) await once(made.service.server, "close");
    },
  };
}

import type { Logger } from "@svc/context";
import { ConfigurationError, type Fault } from "@svc/options";
import type { SchemaPart } from "./parts.ts";

/** The tables of what runs beside the server. */
export interface Preparation {
  /**
   * Resolves when they are made, or when that takes longer than a start should.
   *
   * @throws ConfigurationError for a table that is another one
   */
  first(): Promise<void>;
  /** Resolves when all of them are there; never, when it is stopped before. */
  readonly done: Promise<void>;
  stop(): void;
}

/** How long a start waits for them, and the pauses between further tries, in milliseconds. */
const firstMs = 3000;
const pauseMs = 500;
const longestPauseMs = 10_000;

export function createPreparation(schemas: readonly SchemaPart[], logger: Logger): Preparation {
  const { promise: done, resolve: finish } = Promise.withResolvers<void>();
  const missing = new Set(schemas);
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  async function attempt(): Promise<void> {
    const faults: Fault[] = [];
    for (const schema of missing) {
      try {
        await schema.ensureSchema();
        missing.delete(schema);
      } catch (error) {
        faults.push(...faultsOf(error, schema));
      }
    }
    if (faults.length > 0) throw new ConfigurationError("the service", faults);
    finish();
  }

  // Whoever starts a service while its database is away finds it at work once that is back.
  async function goOn(pause: number): Promise<void> {
    try {
      await (running ?? attempt());
    } catch (err) {
      running = undefined;
      if (isStopped) return;
      const settings = [...missing].map(({ key }) => key);
      const fields = { err, settings, retry_ms: pause };
      logger.warn(fields, "tables could not be made; trying again");
      timer = setTimeout(() => void goOn(Math.min(2 * pause, longestPauseMs)), pause).unref();
    }
  }

  return {
    done,
    async first() {
      running = attempt();
      try {
        await orAfter(running, firstMs);
      } catch (error) {
        if (error instanceof ConfigurationError) throw error;
      }
      void goOn(pauseMs);
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

/** What is wrong with the table that is there, by the key that names it. Throws what says nothing about a table. */
function faultsOf(error: unknown, { key }: SchemaPart): readonly Fault[] {
  const { code, faults } = error as { code?: unknown; faults?: readonly string[] };
  if (code !== "ERR_SVC_SCHEMA" || !Array.isArray(faults)) throw error;
  return faults.map((fault: string) => ({ key, message: `names a table that is another one: ${fault}` }));
}

async function orAfter(something: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const time = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([something, time]).finally(() => clearTimeout(timer));
}

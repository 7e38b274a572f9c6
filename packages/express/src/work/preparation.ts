import type { Logger } from "@svc/context";
import { ConfigurationError, type Fault } from "@svc/options";
import type { SchemaPart } from "@svc/plugin";
import { endsWithin } from "@svc/resilience";

/**
 * How long a start waits for the tables, and the shortest and longest pause between two attempts to create them, in
 * milliseconds.
 */
const firstMs = 3000;
const pauseMs = 500;
const longestPauseMs = 10_000;

/**
 * Creates the tables for the background parts.
 *
 * @param settingOf returns the setting for a configuration key; used for the names of tables
 */
export function createPreparation(
  schemas: readonly SchemaPart[],
  settingOf: (key: string) => unknown,
  logger: Logger,
) {
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
        faults.push(...faultsOf(error, schema, namesake(schema)));
      }
    }
    if (faults.length > 0) throw new ConfigurationError("the service", faults);
    finish();
  }

  /** Returns the configuration key of another table with the same name; undefined if no other has it. */
  function namesake({ key }: SchemaPart): string | undefined {
    const name = settingOf(key);
    return schemas.find((each) => name !== undefined && each.key !== key && settingOf(each.key) === name)
      ?.key;
  }

  // Retry, so that a service started without its database works as soon as the database is available.
  async function goOn(pause: number): Promise<void> {
    try {
      await (running ?? attempt());
    } catch (err) {
      running = undefined;
      if (isStopped) return;
      const settings = [...missing].map(({ key }) => key);
      const fields = { err, settings, retry_ms: pause };
      logger.warn(fields, "could not create tables; retrying");
      timer = setTimeout(() => void goOn(Math.min(2 * pause, longestPauseMs)), pause).unref();
    }
  }

  return {
    /** Resolves when all tables exist; stays pending if the service stops first. */
    done,
    /**
     * Resolves when the tables exist, when the database fails, or at the time limit for the start.
     *
     * @throws ConfigurationError for an existing table with a different structure
     */
    async first(): Promise<void> {
      running = attempt();
      try {
        await endsWithin(firstMs, running);
      } catch (error) {
        if (error instanceof ConfigurationError) throw error;
      }
      void goOn(pauseMs);
    },
    stop(): void {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

/** Returns the faults of an existing table, with its configuration key. Rethrows errors that concern no table or setting. */
function faultsOf(error: unknown, { key }: SchemaPart, namesake: string | undefined): readonly Fault[] {
  if (error instanceof ConfigurationError) return error.faults;
  const { code, faults } = error as { code?: unknown; faults?: readonly string[] };
  if (code !== "ERR_SVC_SCHEMA" || !Array.isArray(faults)) throw error;
  if (namesake !== undefined) {
    return [{ key, message: `names the same table as ${namesake}; use a separate table for each of them` }];
  }
  return faults.map((fault: string) => ({
    key,
    message: `names a table with an unexpected structure: ${fault}`,
  }));
}

import type { Pool } from "pg";
import { createJobTable, type JobTable } from "../job-table.ts";
import { DEFAULT_TABLE } from "../options.ts";
import { InvalidUse, type JobCommand, readJobCommand, usage } from "./arguments.ts";
import { drain } from "./drain.ts";
import { columns, oneLine } from "./print.ts";

// Longer than in a service: some commands read or change the whole table.
const COMMAND_TIMEOUT_MS = 60_000;

/** The environment of a command. */
export interface Surroundings {
  readonly databaseUrl: string | undefined;
  /** Characters per line. */
  readonly width: number;
  /** Aborted at the first interrupt. */
  readonly interrupted: AbortSignal;
  /** Aborted at the second interrupt. */
  readonly insisted?: AbortSignal | undefined;
}

/** The result of a command. */
export interface Answer {
  readonly text: string;
  readonly exitCode: number;
}

/**
 * Runs one command of `svc-jobs`.
 *
 * @throws InvalidUse for an invalid command line; errors of the database
 */
export async function runJobCommand(given: readonly string[], around: Surroundings): Promise<Answer> {
  const command = readJobCommand(given);
  if (command.command === "help") return { text: usage, exitCode: 0 };
  if (around.databaseUrl === undefined || around.databaseUrl === "") {
    throw new InvalidUse("DATABASE_URL must be the connection string of the database");
  }
  // `pg` would treat any other text as a database name on the host `base`.
  if (!/^(?:postgres(?:ql)?:|socket:|\/)/.test(around.databaseUrl)) {
    throw new InvalidUse("DATABASE_URL must be a connection string: postgres://user:password@host/database");
  }
  const pool = await openPool(around.databaseUrl);
  try {
    const table = createJobTable({
      db: pool,
      name: command.table ?? DEFAULT_TABLE,
      commandTimeoutMs: COMMAND_TIMEOUT_MS,
    });
    return await run(command, table, around);
  } finally {
    await pool.end();
  }
}

async function openPool(connectionString: string): Promise<Pool> {
  const { default: pg } = await import("pg").catch((error: unknown) => {
    throw new Error("svc-jobs needs the package pg: npm install pg", { cause: error });
  });
  const pool = new pg.Pool({ connectionString, max: 10, connectionTimeoutMillis: 10_000 });
  pool.on("error", () => undefined);
  return pool;
}

async function run(command: JobCommand, table: JobTable, around: Surroundings): Promise<Answer> {
  switch (command.command) {
    case "stats": {
      const stats = await table.stats();
      const rows = Object.entries(stats).map(([name, count]) => [name, `${count}`]);
      return answer(
        command,
        { table: table.name, ...stats },
        columns([["STATE", "JOBS"], ...rows], around.width),
      );
    }
    case "dead":
      return dead(command, table, around.width);
    case "retry": {
      const ids = await table.retryDead(command.all ? "all" : command.operands);
      const unknown = command.operands.filter((id) => !ids.includes(id));
      const lines = [
        `${ids.length} job(s) pending again`,
        ...unknown.map((id) => `${oneLine(id)} is not dead`),
      ];
      return answer(
        command,
        { retried: ids, not_dead: unknown },
        `${lines.join("\n")}\n`,
        unknown.length > 0 ? 1 : 0,
      );
    }
    case "enqueue": {
      const { operands, payload, id, delaySeconds, maxAttempts } = command;
      const made = await table.enqueue({ task: operands[0] ?? "", payload, id, delaySeconds, maxAttempts });
      return answer(command, made, made.enqueued ? `${made.id}\n` : `${made.id} was queued before\n`);
    }
    case "drain": {
      const counts = await drain(table, command, around);
      const rows = Object.entries(counts).map(([name, count]) => [name, `${count}`]);
      const failed = counts.failed + counts.dead + counts.lost > 0 ? 1 : 0;
      return answer(command, counts, columns([["ENDED", "JOBS"], ...rows], around.width), failed);
    }
    case "ensure": {
      const result = await table.ensureSchema();
      return answer(command, { table: table.name, result }, `${table.name}: ${result}\n`);
    }
    case "help":
      return { text: usage, exitCode: 0 };
  }
}

async function dead(command: JobCommand, table: JobTable, width: number): Promise<Answer> {
  const jobs = await table.dead(command.limit);
  if (jobs.length === 0) return answer(command, [], "no dead jobs\n");
  const rows = jobs.map(({ id, task, attempts, maxAttempts, createdAt, lastError = "" }) => [
    oneLine(id),
    oneLine(task),
    `${attempts}/${maxAttempts}`,
    createdAt.toISOString().slice(0, 16).replace("T", " "),
    oneLine(lastError),
  ]);
  return answer(
    command,
    jobs,
    columns([["ID", "TASK", "ATTEMPTS", "QUEUED (UTC)", "ERROR"], ...rows], width),
  );
}

function answer({ json }: JobCommand, value: object, text: string, exitCode = 0): Answer {
  return { text: json ? `${JSON.stringify(value)}\n` : text, exitCode };
}

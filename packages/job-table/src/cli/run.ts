import { type CommandLine, defineCommandLine, type Reader, text, wholeNumber } from "@svc/cli-options";
import { InexactIntegerError, parseExactJson } from "@svc/sql";
import type { Pool } from "pg";
import { createJobTable, type JobTable } from "../job-table.ts";
import { DEFAULT_TABLE } from "../options.ts";
import { drain } from "./drain.ts";
import { columns, oneLine } from "./print.ts";

const json: Reader<unknown> = (value, flag) => {
  try {
    return parseExactJson(value, "payload");
  } catch (error) {
    if (error instanceof InexactIntegerError) throw new Error(`${flag}: ${error.message}`, { cause: error });
    throw new Error(`${flag} must be JSON`, { cause: error });
  }
};

const connectionString: Reader<string> = (value, variable) => {
  // `pg` would treat any other string as a database name on the host `base`.
  if (/^(?:postgres(?:ql)?:|socket:|\/)/.test(value)) return value;
  throw new Error(`${variable} must be a connection string: postgres://user:password@host/database`);
};

const commandLine = defineCommandLine({
  name: "svc-jobs",
  code: "ERR_SVC_JOBS_USAGE",
  about: "Manages a job table. Reads the connection string from DATABASE_URL.",
  commands: {
    stats: { meaning: "how many jobs are pending, running and dead" },
    dead: { meaning: "dead jobs with their errors, most recently queued first" },
    retry: {
      operands: ["ID..."],
      meaning: "makes dead jobs pending again and resets their attempts",
      or: ["all", "the same for all dead jobs"],
      needs: "the ids of dead jobs, or --all",
    },
    enqueue: { operands: ["TASK"], meaning: "queues a job", needs: "the name of a task" },
    drain: { meaning: "runs jobs until no due job is left" },
    ensure: { meaning: "creates the missing parts of the table" },
  },
  settings: {
    table: { value: "NAME", read: text, default: DEFAULT_TABLE, meaning: "the table, or schema.table" },
    limit: {
      of: ["dead"],
      value: "N",
      read: wholeNumber(1, 10_000),
      shown: "100",
      meaning: "maximum number of jobs, 1 to 10000",
    },
    payload: { of: ["enqueue"], value: "JSON", read: json, shown: "{}", meaning: "" },
    id: {
      of: ["enqueue"],
      value: "ID",
      read: text,
      shown: "32 hex, UUIDv7",
      meaning: "id of the job; a job whose id is already in the table is not queued again",
    },
    delaySeconds: {
      of: ["enqueue"],
      value: "N",
      read: wholeNumber(0, 316_224_000),
      shown: "0",
      meaning: "delay in seconds before the job is due",
    },
    maxAttempts: {
      of: ["enqueue"],
      value: "N",
      read: wholeNumber(1, 1000),
      shown: "3",
      meaning: "1 to 1000",
    },
    handlers: {
      of: ["drain"],
      value: "FILE",
      read: text,
      required: true,
      meaning:
        "a module that exports a function for each task, or an object of such functions as its default export",
    },
    concurrency: {
      of: ["drain"],
      value: "N",
      read: wholeNumber(1, 1000),
      shown: "4",
      meaning: "1 to 1000",
    },
    watch: { of: ["drain"], meaning: "continues until it is interrupted" },
    all: { of: ["retry"] },
    json: { meaning: "prints JSON" },
    databaseUrl: {
      variable: "DATABASE_URL",
      read: connectionString,
      required: true,
      meaning: "the connection string of the database",
    },
  },
  check: ({ all, operands }) =>
    all && operands.length > 0 ? "--all cannot be combined with ids" : undefined,
  exitCodes:
    "Exit code: 0 done, 1 the command was refused or failed, or a drained job failed, 2 invalid usage.",
});
type JobCommand = NonNullable<ReturnType<typeof commandLine.parse>>;

export const svcJobs: CommandLine = commandLine;

// This limit is longer than in a service, because some commands read or change the whole table.
const COMMAND_TIMEOUT_MS = 60_000;

export interface Surroundings {
  readonly databaseUrl: string | undefined;
  /** Maximum line length, in characters. */
  readonly width: number;
  /** Aborted at the first interrupt. */
  readonly interrupted: AbortSignal;
  /** Aborted at the second interrupt. */
  readonly insisted?: AbortSignal | undefined;
}

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
  const command = commandLine.parse(given, { DATABASE_URL: around.databaseUrl });
  if (command === undefined) return { text: commandLine.usage, exitCode: 0 };
  const pool = await openPool(command.databaseUrl);
  try {
    const table = createJobTable({
      db: pool,
      name: command.table,
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
      return answer(command, made, made.enqueued ? `${made.id}\n` : `${made.id} is already queued\n`);
    }
    case "drain": {
      // `parse()` requires --handlers for this command.
      const { handlers = "", concurrency, watch } = command;
      const counts = await drain(table, { handlers, concurrency, watch }, around);
      const rows = Object.entries(counts).map(([name, count]) => [name, `${count}`]);
      const failed = counts.failed + counts.dead + counts.lost > 0 ? 1 : 0;
      return answer(command, counts, columns([["ENDED", "JOBS"], ...rows], around.width), failed);
    }
    case "ensure": {
      const result = await table.ensureSchema();
      return answer(command, { table: table.name, result }, `${table.name}: ${result}\n`);
    }
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

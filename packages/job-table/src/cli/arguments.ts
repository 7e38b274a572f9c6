import { nearestName } from "@svc/options";
import { InexactIntegerError, parseExactJson } from "@svc/sql";
import { parseArgs } from "node:util";

type Command = "stats" | "dead" | "retry" | "enqueue" | "drain" | "ensure";

const commands: readonly Command[] = ["stats", "dead", "retry", "enqueue", "drain", "ensure"];

/** A parsed command line of `svc-jobs`. */
export interface JobCommand {
  readonly command: Command | "help";
  readonly table: string | undefined;
  /** The ids of `retry`, or the task of `enqueue`. */
  readonly operands: readonly string[];
  readonly all: boolean;
  readonly limit: number | undefined;
  readonly payload: unknown;
  readonly id: string | undefined;
  readonly delaySeconds: number | undefined;
  readonly maxAttempts: number | undefined;
  readonly handlers: string | undefined;
  readonly concurrency: number | undefined;
  readonly watch: boolean;
  readonly json: boolean;
}

/** An invalid command line: exit code 2. */
export class InvalidUse extends Error {
  override readonly name = "InvalidUse";
  readonly code = "ERR_SVC_JOBS_USAGE";
}

export const usage: string = `Usage: svc-jobs <command> [options]

Looks after a table of jobs. The connection is DATABASE_URL of the environment.

  stats                how many jobs are pending, running and dead
  dead                 dead jobs with their errors, those that were queued last first
  retry ID...          makes dead jobs pending again, with no attempts
  retry --all          all of them
  enqueue TASK         queues a job
  drain                runs jobs until none is left that may run now
  ensure               makes what is missing of the table

  --table NAME         the table, or schema.table (svc_jobs)
  --limit N            dead: how many, 1 to 10000 (100)
  --payload JSON       enqueue: ({})
  --id ID              enqueue: queued once as long as it is in the table (32 hex, UUIDv7)
  --delay-seconds N    enqueue: not before (0)
  --max-attempts N     enqueue: 1 to 1000 (3)
  --handlers FILE      drain: a module that exports a function for every task, or an object of them as default
  --concurrency N      drain: 1 to 1000 (4)
  --watch              drain: goes on until it is interrupted
  --json               for programs
  --help

Exit code: 0 done, 1 refused or failed (drain: also when a job failed), 2 wrong use.
`;

const text = { type: "string" } as const;
const flag = { type: "boolean" } as const;
const options = {
  table: text,
  limit: text,
  payload: text,
  id: text,
  "delay-seconds": text,
  "max-attempts": text,
  handlers: text,
  concurrency: text,
  all: flag,
  watch: flag,
  json: flag,
  help: flag,
} as const;

const allowed: Readonly<Record<JobCommand["command"], readonly string[]>> = {
  help: Object.keys(options),
  stats: [],
  dead: ["limit"],
  retry: ["all"],
  enqueue: ["payload", "id", "delay-seconds", "max-attempts"],
  drain: ["handlers", "concurrency", "watch"],
  ensure: [],
};

/** @throws InvalidUse for an invalid command line */
export function readJobCommand(given: readonly string[]): JobCommand {
  const { values, positionals } = parse(given);
  const command = values.help === true || given.length === 0 ? "help" : commandOf(positionals[0]);
  for (const name of Object.keys(values)) {
    if (!["table", "json", "help", ...allowed[command]].includes(name)) {
      throw new InvalidUse(`${command} does not take --${name}`);
    }
  }
  const operands = positionals.slice(1);
  const all = values.all ?? false;
  checkOperands(command, operands, all);
  if (command === "drain" && values.handlers === undefined)
    throw new InvalidUse("drain needs --handlers FILE");
  return {
    command,
    table: values.table,
    operands,
    all,
    limit: numberOf(values.limit, "limit", 1, 10_000),
    payload: payloadOf(values.payload),
    id: values.id,
    delaySeconds: numberOf(values["delay-seconds"], "delay-seconds", 0, 316_224_000),
    maxAttempts: numberOf(values["max-attempts"], "max-attempts", 1, 1000),
    handlers: values.handlers,
    concurrency: numberOf(values.concurrency, "concurrency", 1, 1000),
    watch: values.watch ?? false,
    json: values.json ?? false,
  };
}

function parse(
  given: readonly string[],
): ReturnType<typeof parseArgs<{ options: typeof options; allowPositionals: true }>> {
  try {
    return parseArgs({ args: [...given], allowPositionals: true, options });
  } catch (error) {
    throw new InvalidUse(error instanceof Error ? error.message : String(error));
  }
}

function commandOf(name: string | undefined): Command {
  const command = commands.find((each) => each === name);
  if (command !== undefined) return command;
  if (name === undefined) throw new InvalidUse(`a command is missing: ${commands.join(", ")}`);
  const nearest = nearestName(name, commands);
  throw new InvalidUse(
    `${name} is not a command; ${nearest === undefined ? commands.join(", ") : `did you mean ${nearest}?`}`,
  );
}

function checkOperands(command: string, operands: readonly string[], all: boolean): void {
  if (command === "retry") {
    if (operands.length === 0 && !all) throw new InvalidUse("retry needs the ids of dead jobs, or --all");
    if (operands.length > 0 && all) throw new InvalidUse("--all goes without ids");
    return;
  }
  if (command === "help") return;
  const most = command === "enqueue" ? 1 : 0;
  if (operands.length > most) throw new InvalidUse(`${operands[most]} is too much`);
  if (operands.length < most) throw new InvalidUse("enqueue needs the name of a task");
}

function payloadOf(value: string | undefined): unknown {
  if (value === undefined) return undefined;
  try {
    return parseExactJson(value, "payload");
  } catch (error) {
    if (error instanceof InexactIntegerError) throw new InvalidUse(`--payload: ${error.message}`);
    throw new InvalidUse("--payload must be JSON");
  }
}

function numberOf(value: string | undefined, name: string, min: number, max: number): number | undefined {
  if (value === undefined) return undefined;
  const number = Number(value);
  if (/^\d+$/.test(value) && number >= min && number <= max) return number;
  throw new InvalidUse(`--${name} must be a whole number from ${min} to ${max}`);
}

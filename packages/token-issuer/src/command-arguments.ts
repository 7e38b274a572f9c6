import { type Algorithm, algorithms } from "@svc/jwt-auth";
import { nearestName } from "@svc/options";
import { parseArgs } from "node:util";
import type { Lifetimes } from "./key-ring.ts";
import { contractLifetimes } from "./ring-document.ts";

type Command = "init" | "add" | "list" | "promote" | "retire";

const commands: readonly Command[] = ["init", "add", "list", "promote", "retire"];

/** A parsed command line of `svc-keys`. */
export interface KeyCommand {
  readonly command: Command | "help";
  readonly file: string;
  readonly kid: string | undefined;
  readonly algorithm: Algorithm | undefined;
  /** The file of an existing key to import. */
  readonly from: string | undefined;
  readonly rsaBits: number | undefined;
  readonly lifetimes: Lifetimes;
  readonly force: boolean;
  readonly now: boolean;
  readonly due: boolean;
  readonly json: boolean;
}

/** Thrown for an invalid command line; exit code 2. */
export class InvalidUse extends Error {
  override readonly name = "InvalidUse";
  readonly code = "ERR_SVC_KEYS_USAGE";
}

export const usage: string = `Usage: svc-keys <command> [options]

Keeps the signing keys of a token issuer in a file.

  init                 makes the file with a first key, which signs at once
  add                  announces another key; services get to know it, it does not sign yet
  list                 shows the keys, and when each may be promoted or retired
  promote [KID]        lets the announced key sign, and the one before it verify only
  retire KID           takes a key out once all of its tokens have expired
  retire --due         takes out all of those

  --file PATH          the file, or a directory with keys.json in it (keys.json)
  --algorithm NAME     init, add: ${algorithms.slice(0, 6).join(" ")}
                       ${algorithms.slice(6).join(" ")} (RS256; add: as the current key)
  --from PATH          init, add: takes this key, a private PEM or a secret, instead of drawing one
  --rsa-bits BITS      init, add: 2048 to 8192 (2048)
  --access-seconds N   init: how long access tokens live (${contractLifetimes.accessSeconds})
  --refresh-seconds N  init: how long refresh tokens live (${contractLifetimes.refreshSeconds})
  --leeway-seconds N   init: how wrong the clocks of services may be (${contractLifetimes.leewaySeconds})
  --force              promote: earlier than 120 s after add
  --now                retire: though tokens live, and though it signs (the announced key takes over)
  --json               for programs
  --help

Exit code: 0 done, 1 refused or failed, 2 wrong use. Private keys and secrets are never shown.
`;

const text = { type: "string" } as const;
const flag = { type: "boolean" } as const;
const options = {
  file: text,
  algorithm: text,
  from: text,
  "rsa-bits": text,
  "access-seconds": text,
  "refresh-seconds": text,
  "leeway-seconds": text,
  force: flag,
  now: flag,
  due: flag,
  json: flag,
  help: flag,
} as const;

const allowed: Readonly<Record<KeyCommand["command"], readonly string[]>> = {
  help: Object.keys(options),
  init: ["algorithm", "from", "rsa-bits", "access-seconds", "refresh-seconds", "leeway-seconds"],
  add: ["algorithm", "from", "rsa-bits"],
  list: [],
  promote: ["force"],
  retire: ["now", "due"],
};

/** @throws InvalidUse */
export function readKeyCommand(given: readonly string[]): KeyCommand {
  const { values, positionals } = parse(given);
  const command = values.help === true || given.length === 0 ? "help" : commandOf(positionals[0]);
  for (const name of Object.keys(values)) {
    if (!["file", "json", "help", ...allowed[command]].includes(name))
      throw new InvalidUse(`${command} does not take --${name}`);
  }
  const kid = positionals[1];
  const due = values.due ?? false;
  checkOperands(command, positionals, due, values.now ?? false);
  return {
    command,
    kid,
    due,
    file: filled(values.file, "file") ?? "keys.json",
    algorithm: algorithmOf(values.algorithm),
    from: filled(values.from, "from"),
    rsaBits: numberOf(values["rsa-bits"], "rsa-bits", 2048, 8192),
    lifetimes: {
      accessSeconds:
        numberOf(values["access-seconds"], "access-seconds", 1) ?? contractLifetimes.accessSeconds,
      refreshSeconds:
        numberOf(values["refresh-seconds"], "refresh-seconds", 1) ?? contractLifetimes.refreshSeconds,
      leewaySeconds:
        numberOf(values["leeway-seconds"], "leeway-seconds", 0) ?? contractLifetimes.leewaySeconds,
    },
    force: values.force ?? false,
    now: values.now ?? false,
    json: values.json ?? false,
  };
}

function parse(
  given: readonly string[],
): ReturnType<typeof parseArgs<{ options: typeof options; allowPositionals: true }>> {
  try {
    // A kid may begin with a dash and would be parsed as an option.
    const kids = given.filter((each) => /^-[\w-]{42}$/.test(each));
    const args = given.filter((each) => !kids.includes(each));
    return parseArgs({
      args: kids.length === 0 ? args : [...args, "--", ...kids],
      allowPositionals: true,
      options,
    });
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

function checkOperands(command: string, positionals: readonly string[], due: boolean, now: boolean): void {
  const most = command === "promote" || command === "retire" ? 2 : 1;
  if (command !== "help" && positionals.length > most)
    throw new InvalidUse(`unexpected argument ${positionals[most]}`);
  if (command !== "retire") return;
  if (positionals[1] === undefined && !due) throw new InvalidUse("retire needs the kid of a key, or --due");
  if (due && (positionals[1] !== undefined || now))
    throw new InvalidUse("--due goes with neither a kid nor --now");
}

function algorithmOf(name: string | undefined): Algorithm | undefined {
  if (name === undefined) return undefined;
  const algorithm = algorithms.find((each) => each === name);
  if (algorithm !== undefined) return algorithm;
  throw new InvalidUse(`--algorithm must be one of ${algorithms.join(", ")}`);
}

function filled(value: string | undefined, name: string): string | undefined {
  if (value === "") throw new InvalidUse(`--${name} is empty`);
  return value;
}

function numberOf(value: string | undefined, name: string, min: number, max = 1e10): number | undefined {
  if (value === undefined) return undefined;
  const number = Number(value);
  if (/^\d+$/.test(value) && number >= min && number <= max) return number;
  throw new InvalidUse(`--${name} must be a whole number from ${min} to ${max}`);
}

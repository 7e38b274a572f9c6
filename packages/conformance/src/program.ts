import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { checkConformance, type Environment } from "./conformance.ts";
import { InvalidUse } from "./faults.ts";
import { type ConformanceOptions, type Member, membersOf, type Probes } from "./options.ts";
import { asJUnit, asTable } from "./report.ts";
import { fileName } from "./shape-faults.ts";
import { readKeys, readProbes } from "./settings-files.ts";
import { expectedWaits } from "./waits.ts";

/** The output streams of the program. */
export interface Output {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
}

/** The exit code if no rule failed but the run checked less than required. */
const tooLittleSeen = 3;

/** Options that exist only on the command line. */
const ofProgram: Readonly<Record<string, Member>> = {
  json: { kind: "text", argument: "FILE", meaning: "writes the report as JSON" },
  junit: { kind: "text", argument: "FILE", meaning: "writes the report as JUnit XML" },
  help: { kind: "boolean", argument: "", meaning: "prints this help" },
};

interface Flag {
  readonly name: string;
  readonly member: Member;
}

/** Returns the command-line option of each member that has one, by member name. */
function flagsOf(members: Readonly<Record<string, Member>>): ReadonlyMap<string, Flag> {
  const own = Object.entries(members).filter(([, { argument }]) => argument !== undefined);
  return new Map(
    own.map(([name, member]) => [name, { name: member.flag ?? fileName(name).replaceAll("_", "-"), member }]),
  );
}

const flags = {
  options: flagsOf(membersOf("options")),
  probes: flagsOf(membersOf("probes")),
  own: flagsOf(ofProgram),
};
const allFlags: readonly Flag[] = Object.values(flags).flatMap((each) => [...each.values()]);

function usage(): string {
  const heads = allFlags.map(({ name, member }) => `--${name} ${member.argument}`.trimEnd());
  const width = Math.max(...heads.map(({ length }) => length));
  const lines = allFlags.map(({ member }, index) => {
    const { default: value, meaning } = member;
    const isShown = typeof value === "string" || typeof value === "number";
    return `  ${heads[index]?.padEnd(width)}  ${meaning.replaceAll("`", "")}${isShown ? ` (${value})` : ""}`;
  });
  return `Usage: svc-conformance <base URL> [options]

Checks a running service against the contract, from outside.

${lines.join("\n")}

A ROUTE is "/path" or "POST /path". A LIST is a,b,c. --require may be repeated.
Exit code: 0 conforms, 1 a rule is broken, 2 invalid usage or no response, 3 no rule is broken, but too few rules were checked.
`;
}

type Values = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/** A parsed command line. The named files are not read yet. */
interface CommandLine {
  readonly values: Values;
  readonly options: Omit<ConformanceOptions, "keys" | "tenancy" | "limits">;
}

/**
 * Parses the command line.
 * @throws InvalidUse
 */
function readArguments(given: readonly string[]): CommandLine {
  let parsed;
  try {
    parsed = parseArgs({
      args: [...given],
      allowPositionals: true,
      options: Object.fromEntries(
        allFlags.map(({ name, member }) => [
          name,
          { type: member.argument === "" ? "boolean" : "string", multiple: name === "require" } as const,
        ]),
      ),
    });
  } catch (error) {
    throw new InvalidUse([error instanceof Error ? error.message : "invalid arguments"]);
  }
  const values = parsed.values as Values;
  if (values["help"] !== true && parsed.positionals.length !== 1)
    throw new InvalidUse(["one base URL is required"]);
  const options: Record<string, unknown> = { url: parsed.positionals[0] ?? "" };
  for (const [name, { name: flag, member }] of flags.options) {
    if (values[flag] !== undefined && member.argument !== "FILE")
      options[name] = valueOf(flag, member, values[flag]);
  }
  const probes: Record<string, unknown> = {};
  for (const [name, { name: flag, member }] of flags.probes) {
    if (values[flag] !== undefined) probes[name] = probeOf(flag, member, String(values[flag]));
  }
  return { values, options: { ...options, log: values["log"], probes } as unknown as CommandLine["options"] };
}

/** Converts an option's value to the given kind. */
function valueOf(flag: string, { kind }: Member, given: NonNullable<Values[string]>): unknown {
  if (kind === "texts" || kind === "features") {
    return [given].flat().flatMap((each) =>
      String(each)
        .split(",")
        .map((text) => text.trim()),
    );
  }
  if (flag === "max-not-applicable" && !/^\d{1,6}$/.test(String(given))) {
    throw new InvalidUse([`--${flag}: ${JSON.stringify(given)} must be a whole number of at least 0`]);
  }
  return kind === "number" || kind === "seconds" ? Number(given) : given;
}

/** Parses a probe of the given kind: a route alone, or a route followed by scopes or roles. */
function probeOf(flag: string, { kind }: Member, given: string): unknown {
  const [, route, names] = /^((?:[A-Z]+ )?\/\S*)(?: (\S+))?$/.exec(given) ?? [];
  if (kind !== "scoped" && kind !== "role") {
    if (route !== undefined && names === undefined) return route;
    throw new InvalidUse([`--${flag}: ${JSON.stringify(given)} is neither "/path" nor "METHOD /path"`]);
  }
  if (route === undefined || names === undefined) {
    throw new InvalidUse([`--${flag}: ${JSON.stringify(given)} is not "/path one,other"`]);
  }
  return { request: route, [kind === "scoped" ? "scopes" : "roles"]: names.split(",") };
}

/** Runs the command line. Resolves to the exit code. */
export async function runProgram(
  given: readonly string[],
  output: Output,
  environment?: Environment,
): Promise<number> {
  try {
    return await check(given, output, environment);
  } catch (error) {
    const lines = error instanceof InvalidUse ? error.faults : [String(error)];
    output.stderr.write(`${lines.map((line) => `svc-conformance: ${line}`).join("\n")}\n`);
    if (error instanceof InvalidUse) output.stderr.write("run svc-conformance --help for more\n");
    return 2;
  }
}

async function check(
  given: readonly string[],
  { stdout, stderr }: Output,
  environment?: Environment,
): Promise<number> {
  const { values, options } = readArguments(given);
  if (values["help"] === true) {
    stdout.write(usage());
    return 0;
  }
  const file = (name: string): string | undefined => values[name] as string | undefined;
  const [keysFile, probesFile, jsonFile, junitFile] = ["keys", "probes", "json", "junit"].map(file);
  const fromFile = probesFile === undefined ? {} : await readProbes(probesFile);
  const all: ConformanceOptions = {
    ...options,
    ...fromFile,
    features: options.features ?? fromFile.features,
    probes: { ...fromFile.probes, ...options.probes } satisfies Probes,
    keys: keysFile === undefined ? undefined : await readKeys(keysFile),
  };
  const waits = expectedWaits(all);
  if (waits !== undefined) stderr.write(`svc-conformance: ${waits}\n`);
  const report = await checkConformance(all, environment);
  stdout.write(asTable(report));
  if (jsonFile !== undefined) await write(jsonFile, `${JSON.stringify(report, undefined, 2)}\n`);
  if (junitFile !== undefined) await write(junitFile, asJUnit(report));
  if (report.failed > 0) return 1;
  return report.conforms ? 0 : tooLittleSeen;
}

async function write(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text);
  } catch (error) {
    throw new InvalidUse([`${path}: cannot be written: ${(error as NodeJS.ErrnoException).code}`]);
  }
}

import { nearestName } from "@svc/options";
import { parseArgs } from "node:util";
import type { Reader } from "./readers.ts";

/** A flag or environment variable. The setting `delaySeconds` has the flag `--delay-seconds`. */
export interface Setting {
  /** The purpose of the setting, without its commands and its default. If undefined, the help omits the setting. */
  readonly meaning?: string;
  /** Placeholder for the value in the help, for example `N`. */
  readonly value?: string;
  /** Reads the value. Default: none, because the flag is a boolean. */
  readonly read?: Reader<unknown>;
  /**
   * The value if the setting is not given, of the type that `read` returns; a list if `multiple`. Default: undefined;
   * false for a boolean flag.
   */
  readonly default?: unknown;
  /** The default as shown in the help. Default: `default`, if it is a string, a number or a list of them. */
  readonly shown?: string;
  /** The commands that accept the setting. Default: all. */
  readonly of?: readonly string[];
  /** Whether these commands require the setting. Default: false. */
  readonly required?: boolean;
  /** Whether the flag may be repeated, so that its value is a list. Default: false. */
  readonly multiple?: boolean;
  /** The environment variable that holds the value; such a setting has no flag. Default: none. */
  readonly variable?: string;
}

/** One command on a command line, for example `retry`. */
export interface Command {
  readonly meaning: string;
  /** Positional arguments: `["ID"]`, `["[ID]"]` if optional, `["ID..."]` if repeatable. Default: none. */
  readonly operands?: readonly string[];
  /** The name of missing operands in an error. Default: their placeholders. */
  readonly needs?: string;
  /** A flag that can be used instead of the operands, and its meaning: `["all", "all of them"]`. Default: none. */
  readonly or?: readonly [flag: string, meaning: string];
}

/** The value of a setting that is given. */
type ValueOf<S> = S extends { readonly read: Reader<infer T> }
  ? S extends { readonly multiple: true }
    ? readonly T[]
    : T
  : boolean;

/** The value of each setting. It is undefined for a command that does not accept a required setting. */
export type Values<S> = {
  readonly [N in keyof S]: S[N] extends { readonly read: Reader<unknown> }
    ? S[N] extends { readonly default: unknown } | { readonly required: true; readonly of?: never }
      ? ValueOf<S[N]>
      : ValueOf<S[N]> | undefined
    : boolean;
};

/** The type that the default of each setting must have; a boolean flag has none. */
export type Defaults<S> = {
  readonly [N in keyof S]: {
    readonly default?: S[N] extends { readonly read: Reader<unknown> } ? ValueOf<S[N]> : never;
  };
};

/** A parsed command line: the command, its positional arguments and the value of each setting. */
export type Given<C, S> = {
  readonly command: keyof C & string;
  readonly operands: readonly string[];
} & Values<S>;

/** The definition of a command line, from which parsing, errors, help and README tables are derived. */
export interface CommandLineDefinition<C, S> {
  /** Name of the program, for example `svc-jobs`. */
  readonly name: string;
  /** The code of {@link InvalidUse}. */
  readonly code: string;
  /** One sentence about the program. */
  readonly about: string;
  /** Commands by name. A program without commands defines a single one with the name "". */
  readonly commands: C;
  /** Flags and variables by name. */
  readonly settings: S;
  /**
   * Returns what is wrong with a combination of flags and arguments; undefined if it is allowed. Default: every
   * combination is allowed.
   */
  readonly check?: (given: Given<C, S>) => string | undefined;
  /** The last paragraph of the help. */
  readonly exitCodes: string;
}

/** The format of an error that is not an {@link InvalidUse}. */
export interface FailureDetails {
  /** Whether to print JSON with `code`, `reason` and `message`. */
  readonly json: boolean;
  readonly code: string;
  readonly reason?: string | undefined;
  readonly message: string;
}

/** A command line: its parser and its documentation. */
export interface CommandLine<G = object> {
  /**
   * Parses the arguments that follow the program's name.
   *
   * @param environment the environment variables
   * @returns undefined when the help is requested: with `--help`, or without arguments if the program has commands
   * @throws InvalidUse that names the argument and what is allowed
   */
  parse(given: readonly string[], environment?: Readonly<Record<string, string | undefined>>): G | undefined;
  /** The text of `--help`. */
  readonly usage: string;
  /** The commands and settings as tables for a README. */
  readonly markdown: string;
  /** Returns the string for standard error and the exit code: 2 for {@link InvalidUse}, otherwise 1. */
  failure(error: unknown, details: FailureDetails): { readonly text: string; readonly exitCode: number };
}

/** An invalid command line; the exit code is 2. */
export class InvalidUse extends Error {
  override readonly name = "InvalidUse";
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Defines a command line, with its parser and its documentation. */
export function defineCommandLine<
  const C extends Readonly<Record<string, Command>>,
  const S extends Readonly<Record<string, Setting>>,
>(definition: CommandLineDefinition<C, S> & { readonly settings: Defaults<S> }): CommandLine<Given<C, S>> {
  const { name, code, check } = definition;
  const commands: Readonly<Record<string, Command>> = definition.commands;
  const settings = Object.entries<Setting>(definition.settings);
  const isSingle = "" in commands;
  const flags = new Map(settings.filter(([, { variable }]) => variable === undefined).map(flagOf));
  const options = Object.fromEntries(
    [...flags].map(([flag, { read, multiple = false }]) => {
      return [flag, { type: read === undefined ? "boolean" : "string", multiple } as const];
    }),
  );
  const invalid = (message: string): InvalidUse => new InvalidUse(code, message);

  function split(given: readonly string[]): {
    readonly values: Readonly<Record<string, unknown>>;
    readonly positionals: readonly string[];
  } {
    const known = { ...options, help: { type: "boolean" } as const };
    try {
      return parseArgs({ args: [...given], allowPositionals: true, options: known });
    } catch (error) {
      const { code: kind, message } = error as NodeJS.ErrnoException;
      const flag = kind === "ERR_PARSE_ARGS_UNKNOWN_OPTION" ? /'(-[^']*)'/.exec(message)?.[1] : undefined;
      throw invalid(flag === undefined ? message : `Unknown option '${flag}'; ${hint(flag, known, "--")}`);
    }
  }

  function commandOf(word: string | undefined): string {
    if (isSingle) return "";
    if (word === undefined)
      throw invalid(`a command is missing; expected one of ${Object.keys(commands).join(", ")}`);
    if (Object.hasOwn(commands, word)) return word;
    throw invalid(`${word} is not a command; ${hint(word, commands)}`);
  }

  function checkOperands(command: string, operands: readonly string[], isReplaced: boolean): void {
    const { operands: forms = [], needs = forms.join(" ") } = commands[command] ?? {};
    const most = forms.some((form) => form.endsWith("...")) ? Infinity : forms.length;
    if (operands.length > most) throw invalid(`unexpected argument ${operands[most]}`);
    const least = forms.filter((form) => !form.startsWith("[")).length;
    if (operands.length < least && !isReplaced) throw invalid(`${command || name} needs ${needs}`);
  }

  function valueOf(called: string, setting: Setting, command: string, given: unknown): unknown {
    const { read, required, variable, meaning, value } = setting;
    if (read === undefined) return given ?? false;
    if (given === undefined && required === true && takes(command, setting)) {
      const lacks = `${command || name} needs ${called} ${value}`;
      throw invalid(variable === undefined ? lacks : `${variable} must be ${meaning}`);
    }
    if (given === undefined) return setting.default;
    try {
      return Array.isArray(given) ? given.map((each) => read(each, called)) : read(given as string, called);
    } catch (error) {
      throw invalid((error as Error).message);
    }
  }

  return {
    parse(given, environment = {}) {
      const { values, positionals } = split(given);
      if (values["help"] === true || (given.length === 0 && !isSingle)) return undefined;
      const command = commandOf(positionals[0]);
      for (const [flag, setting] of flags) {
        if (flag in values && !takes(command, setting)) throw invalid(`${command} does not accept --${flag}`);
      }
      const operands = isSingle ? positionals : positionals.slice(1);
      checkOperands(command, operands, values[commands[command]?.or?.[0] ?? ""] === true);
      const read = settings.map(([key, setting]) => {
        const [flag] = flagOf([key, setting]);
        const { variable } = setting;
        if (variable === undefined) return [key, valueOf(`--${flag}`, setting, command, values[flag])];
        const found = takes(command, setting) ? environment[variable] : undefined;
        return [key, valueOf(variable, setting, command, found || undefined)];
      });
      const parsed = { command, operands, ...Object.fromEntries(read) } as Given<C, S>;
      const fault = check?.(parsed);
      if (fault !== undefined) throw invalid(fault);
      return parsed;
    },
    ...documentation(definition, commands, settings),
    failure(error, { json, code: known, reason, message }) {
      const isInvalid = error instanceof InvalidUse;
      const help = isInvalid ? `run ${name} --help for more\n` : "";
      const text = json
        ? `${JSON.stringify({ code: isInvalid ? error.code : known, reason, message })}\n`
        : `${name}: ${message}\n${help}`;
      return { text, exitCode: isInvalid ? 2 : 1 };
    },
  };
}

function flagOf([key, setting]: readonly [string, Setting]): readonly [string, Setting] {
  return [key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`), setting];
}

function takes(command: string, { of }: Setting): boolean {
  return of === undefined || of.includes(command);
}

/** Suggests the most similar known name, or lists all of them. */
function hint(word: string, known: object, before = ""): string {
  const nearest = nearestName(word.replace(/^-+/, ""), Object.keys(known));
  if (nearest !== undefined) return `did you mean ${before}${nearest}?`;
  const names = Object.keys(known).map((each) => before + each);
  return `expected one of ${names.join(", ")}`;
}

function defaultText(value: unknown): string {
  return [value]
    .flat()
    .filter((each) => typeof each === "string" || typeof each === "number")
    .join(", ");
}

function documentation(
  { name, about, exitCodes }: Omit<CommandLineDefinition<unknown, unknown>, "check">,
  commands: Readonly<Record<string, Command>>,
  settings: readonly (readonly [string, Setting])[],
): { readonly usage: string; readonly markdown: string } {
  const single = commands[""];
  const forms = Object.entries(single === undefined ? commands : {}).flatMap(
    ([command, { operands = [], meaning, or }]) => [
      [[command, ...operands].join(" "), meaning] as const,
      ...(or === undefined ? [] : [[`${command} --${or[0]}`, or[1]] as const]),
    ],
  );
  const shown = settings.flatMap(([key, setting]) => {
    const { meaning, value = "", variable, of = [] } = setting;
    const called = variable ?? `--${flagOf([key, setting])[0]} ${value}`.trim();
    const fallback = setting.shown ?? defaultText(setting.default);
    return meaning === undefined ? [] : [{ called, of, fallback, meaning, isFlag: variable === undefined }];
  });

  const lines = shown
    .filter(({ isFlag }) => isFlag)
    .map(({ called, of, fallback, meaning }) => {
      const takers = of.length === 0 ? "" : `${of.join(", ")}: `;
      return [called, takers + [meaning, fallback && `(${fallback})`].join(" ").trim()] as const;
    });
  const width = Math.max(21, ...[...forms, ...lines].map(([left]) => left.length + 2));
  const listed = (rows: readonly (readonly [string, string])[]): string =>
    rows
      .map(
        ([left, right]) => `  ${left.padEnd(width)}${right.replaceAll("\n", `\n${" ".repeat(width + 2)}`)}`,
      )
      .map((line) => `${line.trimEnd()}\n`)
      .join("");
  const operands = single === undefined ? "<command>" : (single.operands ?? []).join(" ");
  const lists = [...(single === undefined ? [listed(forms)] : []), listed([...lines, ["--help", ""]])];
  const usage = [`Usage: ${name} ${operands} [options]\n`, `${about}\n`, ...lists, `${exitCodes}\n`].join(
    "\n",
  );

  const row = (...cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const code = (text: string): string => text && `\`${text}\``;
  const markdown = [
    ...(single === undefined ? [row("command", "what it does"), row("---", "---")] : []),
    ...forms.map(([form, meaning]) => row(code(form), meaning)),
    ...(single === undefined ? [""] : []),
    row("flag or variable", "of", "default", "meaning"),
    row("---", "---", "---", "---"),
    ...shown.map(({ called, of, fallback, meaning }) =>
      row(code(called), of.map(code).join(", "), code(fallback), meaning.replaceAll("\n", " ")),
    ),
  ].join("\n");
  return { usage, markdown };
}

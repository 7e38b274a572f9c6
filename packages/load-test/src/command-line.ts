import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { type Flag, flags, shownFlag } from "./flags.ts";
import { type LoadTestOptions, usage } from "./options.ts";

/** A parsed command line, whose option values are not validated yet. */
export interface CommandLine {
  readonly options: LoadTestOptions;
  readonly tokenFile: string | undefined;
  readonly k6: string | undefined;
  readonly html: string | undefined;
  readonly isJson: boolean;
  readonly failsOnBreak: boolean;
}

const flagOf: Readonly<Partial<Record<keyof LoadTestOptions, keyof typeof flags>>> = {
  routes: "route",
  methods: "method",
  clients: "clients",
  seconds: "duration",
  warmUpSeconds: "warm-up",
  rate: "rate",
  token: "token",
  headers: "header",
  timeoutSeconds: "timeout",
  maxP99Ms: "max-p99-ms",
  maxErrorRate: "max-error-rate",
  includeFramework: "include-framework",
};

/** Names an option in an error message as the command line does. */
export function optionName(option: keyof LoadTestOptions): string {
  const flag = flagOf[option];
  return flag === undefined ? "URL" : shownFlag(flag);
}

/**
 * Parses the arguments of the command.
 *
 * @returns undefined if the help is requested
 * @throws LoadTestError ERR_SVC_LOAD_TEST_USAGE
 */
export function readCommandLine(given: readonly string[]): CommandLine | undefined {
  const { values, positionals } = parse(given);
  if (values["help"] === true) return undefined;
  if (positionals.length !== 1)
    throw usage(
      positionals.length === 0
        ? "the URL of the service is missing"
        : "there must be only one URL of a service",
    );
  const text = (name: keyof typeof flags): string | undefined => values[name] as string | undefined;
  const list = (name: keyof typeof flags): readonly string[] | undefined =>
    values[name] as readonly string[] | undefined;
  const number = (name: keyof typeof flags): number | undefined => numberOf(shownFlag(name), text(name));
  if (text("token") !== undefined && text("token-file") !== undefined)
    throw usage("--token and --token-file cannot be used together");
  return {
    options: {
      url: positionals[0] ?? "",
      routes: list("route"),
      methods: list("method"),
      clients: text("clients")
        ?.split(",")
        .map((each) => numberOf("-c", each.trim()) ?? Number.NaN),
      seconds: number("duration"),
      warmUpSeconds: number("warm-up"),
      rate: number("rate"),
      token: text("token"),
      headers: list("header"),
      timeoutSeconds: number("timeout"),
      maxP99Ms: number("max-p99-ms"),
      maxErrorRate: number("max-error-rate"),
      includeFramework: values["include-framework"] === true,
    },
    tokenFile: text("token-file"),
    k6: text("k6"),
    html: text("html"),
    isJson: values["json"] === true,
    failsOnBreak: values["fail-on-break"] === true,
  };
}

function parse(given: readonly string[]): {
  readonly values: Readonly<Record<string, unknown>>;
  readonly positionals: readonly string[];
} {
  const options: ParseArgsOptionsConfig = Object.fromEntries(
    Object.entries<Flag>(flags).map(([name, { short, value, isRepeatable = false }]) => {
      const type = value === undefined ? "boolean" : "string";
      return [name, { type, multiple: isRepeatable, ...(short === undefined ? {} : { short }) }];
    }),
  );
  try {
    return parseArgs({ args: [...given], allowPositionals: true, options });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const unknown = /'(-[^']*)'/.exec(message)?.[1];
    if (code === "ERR_PARSE_ARGS_UNKNOWN_OPTION")
      throw usage(`${unknown} is not a flag; run load-test --help`);
    throw usage((message.split("\n")[0] ?? "").replace(/\.$/, ""));
  }
}

function numberOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,12}(?:\.\d{1,6})?$/.test(text))
    throw usage(`${name} must be a number; got ${JSON.stringify(text)}`);
  return Number(text);
}

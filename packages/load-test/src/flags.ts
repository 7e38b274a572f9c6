/** A flag of the command line. */
export interface Flag {
  readonly meaning: string;
  /** Placeholder for the value; without one, the flag takes none. */
  readonly value?: string;
  readonly short?: string;
  /** The default as the help shows it. */
  readonly preset?: string;
  readonly isRepeatable?: true;
}

/** The flags by name. The parser, the help and the table in the README are derived from them (LOAD-2). */
export const flags = {
  route: {
    value: "PATH",
    meaning: "a route to load: a template of the description or a literal path; may be repeated",
    preset: "every route that can be filled",
    isRepeatable: true,
  },
  method: {
    value: "METHOD",
    meaning: "the method to load: GET, or POST, PUT, PATCH with an example body; may be repeated",
    preset: "GET",
    isRepeatable: true,
  },
  clients: { short: "c", value: "N,N", meaning: "number of clients of each step", preset: "1,4,16,64" },
  duration: { short: "d", value: "SECONDS", meaning: "duration of a step", preset: "10" },
  "warm-up": { value: "SECONDS", meaning: "unmeasured load before each step", preset: "1" },
  rate: {
    value: "N",
    meaning: "requests per second of all clients; latencies count from the time at which a request is due",
    preset: "each client waits for its response",
  },
  token: {
    value: "TOKEN",
    meaning: "bearer token; other users of the machine can see it in the list of processes",
  },
  "token-file": {
    value: "FILE",
    meaning: "file whose first line is the bearer token; with `-`, it is read from standard input",
  },
  header: {
    short: "H",
    value: "'NAME: VALUE'",
    meaning: "a header of every request; may be repeated",
    isRepeatable: true,
  },
  timeout: { value: "SECONDS", meaning: "time limit of a request", preset: "10" },
  "max-p99-ms": { value: "MS", meaning: "p99 above which a step breaks", preset: "500" },
  "max-error-rate": { value: "PERCENT", meaning: "share of errors above which a step breaks", preset: "1" },
  "fail-on-break": { meaning: "exits with 1 if a step broke" },
  "include-framework": { meaning: "loads the routes of the framework too, such as /health" },
  json: { meaning: "prints JSON instead of a table" },
  html: { value: "FILE", meaning: "writes a report as one HTML file" },
  k6: { value: "FILE", meaning: "writes the same load as a script for k6, which reads the token from TOKEN" },
  help: { short: "h", meaning: "prints this help" },
} as const satisfies Readonly<Record<string, Flag>>;

const all: readonly (readonly [string, Flag])[] = Object.entries(flags);

/** Returns the name of a flag on the command line: the short name, such as `-c`, if it has one. */
export function shownFlag(name: keyof typeof flags): string {
  const { short } = flags[name] as Flag;
  return short === undefined ? `--${name}` : `-${short}`;
}

function headOf(name: string, { short, value }: Flag): string {
  const names = short === undefined ? `--${name}` : `-${short}, --${name}`;
  return value === undefined ? names : `${names} ${value}`;
}

/** The text of `--help`. */
export function helpText(): string {
  const heads = all.map(([name, flag]) => headOf(name, flag));
  const width = Math.max(...heads.map(({ length }) => length));
  const lines = all.map(([, { meaning, preset }], at) => {
    return `  ${heads[at]?.padEnd(width)}  ${meaning}${preset === undefined ? "" : ` (${preset})`}`;
  });
  return `Usage: load-test URL [flags]

Reads /openapi.json of a service, and loads its routes with more and more clients until it breaks.

${lines.join("\n")}

Exit code: 0 done, 1 a step broke and --fail-on-break is set, 2 invalid use or nothing to load, 130 interrupted.
`;
}

/** The flags as a table for the README. */
export function flagTable(): string {
  const rows = all.map(([name, flag]) => {
    return `| \`${headOf(name, flag)}\` | ${flag.preset === undefined ? "" : `${flag.preset}`} | ${flag.meaning} |`;
  });
  return ["| flag | default | meaning |", "| --- | --- | --- |", ...rows].join("\n");
}

import { parseArgs } from "node:util";
import { InvalidUse } from "./faults.ts";
import type { ConformanceOptions, Feature, Probes } from "./options.ts";
import type { Probe } from "./requests.ts";

/** A parsed command line; the files that it names are not read yet. */
export interface CommandLine {
  readonly help: boolean;
  readonly options: Omit<ConformanceOptions, "keys" | "tenancy" | "limits">;
  readonly keysFile: string | undefined;
  readonly probesFile: string | undefined;
  readonly jsonFile: string | undefined;
  readonly junitFile: string | undefined;
}

export const usage = `Usage: svc-conformance <base URL> [options]

Checks a running service against the contract, from outside.

  --replica URL           a second replica of the same service
  --keys FILE             how to make tokens that the service accepts (JSON)
  --probes FILE           routes to try, tenancy and limits of the service (JSON)
  --profile full|reduced  what the service claims to be (full)
  --features LIST         auth,tenancy,metrics,telemetry,cors,trusted_hosts,security_headers
  --open ROUTE            a route is "/path" or "POST /path"; answers anybody
  --protected ROUTE       needs a caller
  --scoped "ROUTE a,b"    needs the scopes a and b
  --role "ROUTE x,y"      needs the role x or y
  --mixed ROUTE           serves callers and others
  --tenant ROUTE          needs a tenant, answers JSON with member \`tenant\`
  --failing ROUTE         throws an unhandled exception
  --json-body ROUTE       takes a JSON object
  --log FILE              what the service writes to its standard output
  --serve-keys HOST:PORT  serves a key set that the service fetches (mode jwks)
  --house                 checks the house rules as well
  --only ID,ID            checks these rules alone
  --require NAME          has to be seen, else the exit code is 3: session, log, slow and so on; may be repeated
  --max-not-applicable N  how many rules may be not applicable, else the exit code is 3 (half of them)
  --json FILE             writes the report as JSON
  --junit FILE            writes the report as JUnit XML
  --timeout SECONDS       for everything (300)
  --help

Exit code: 0 conforms, 1 a rule is broken, 2 wrong use or no answer, 3 no rule is broken and too little was seen.
`;

/** @throws InvalidUse */
export function readArguments(given: readonly string[]): CommandLine {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  let parsed;
  try {
    parsed = parseArgs({
      args: [...given],
      allowPositionals: true,
      options: {
        replica: text,
        keys: text,
        probes: text,
        profile: text,
        features: text,
        open: text,
        protected: text,
        scoped: text,
        role: text,
        mixed: text,
        tenant: text,
        failing: text,
        "json-body": text,
        log: text,
        "serve-keys": text,
        house: flag,
        only: text,
        require: { ...text, multiple: true },
        "max-not-applicable": text,
        json: text,
        junit: text,
        timeout: text,
        help: flag,
      },
    });
  } catch (error) {
    throw new InvalidUse([error instanceof Error ? error.message : "wrong arguments"]);
  }
  const { values, positionals } = parsed;
  const help = values.help === true;
  if (!help && positionals.length !== 1) throw new InvalidUse(["one base URL is needed"]);
  const totalSeconds = values.timeout === undefined ? undefined : Number(values.timeout);
  return {
    help,
    keysFile: values.keys,
    probesFile: values.probes,
    jsonFile: values.json,
    junitFile: values.junit,
    options: {
      url: positionals[0] ?? "",
      replica: values.replica,
      profile: values.profile as ConformanceOptions["profile"],
      features: list(values.features) as readonly Feature[] | undefined,
      probes: probesIn(values),
      log: values.log,
      serveKeys: values["serve-keys"],
      house: values.house,
      only: list(values.only),
      require: values.require?.flatMap((each) => list(each) ?? []),
      maxNotApplicable: amount(values["max-not-applicable"]),
      totalSeconds,
    },
  };
}

type Values = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

function list(text: string | undefined): readonly string[] | undefined {
  return text?.split(",").map((each) => each.trim());
}

function amount(text: string | undefined): number | undefined {
  if (text === undefined || /^\d{1,6}$/.test(text)) return text === undefined ? undefined : Number(text);
  throw new InvalidUse([
    `--max-not-applicable: ${JSON.stringify(text)} is not allowed; give a whole number from 0 on`,
  ]);
}

function probesIn(values: Values): Probes {
  const route = (name: string): Probe | undefined => {
    const value = values[name];
    return typeof value === "string" ? checkedRoute(name, value) : undefined;
  };
  const tenant = route("tenant");
  const failing = route("failing");
  const scoped = withNames(values, "scoped");
  const role = withNames(values, "role");
  const all = {
    open: route("open"),
    protected: route("protected"),
    mixed: route("mixed"),
    json: route("json-body"),
    tenant: tenant && { request: tenant },
    failing: failing && { request: failing },
    scoped: scoped && { request: scoped.route, scopes: scoped.names },
    role: role && { request: role.route, roles: role.names },
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as Probes;
}

function checkedRoute(name: string, value: string): string {
  if (/^(?:[A-Z]+ )?\/\S*$/.test(value)) return value;
  throw new InvalidUse([`--${name}: ${JSON.stringify(value)} is neither "/path" nor "METHOD /path"`]);
}

function withNames(
  values: Values,
  name: string,
): { readonly route: string; readonly names: readonly string[] } | undefined {
  const value = values[name];
  if (typeof value !== "string") return undefined;
  const [, route, names] = /^((?:[A-Z]+ )?\/\S*) (\S+)$/.exec(value) ?? [];
  if (route === undefined || names === undefined) {
    throw new InvalidUse([`--${name}: ${JSON.stringify(value)} is not "/path one,other"`]);
  }
  return { route, names: names.split(",") };
}

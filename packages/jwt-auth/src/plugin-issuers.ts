import { ConfigurationError, fault, type Fault, withNames } from "@svc/options";
import type { PluginContext } from "@svc/plugin";
import type { IssuerOptions } from "./issuer-options.ts";
import type { JwtAuthOptions } from "./options.ts";
import type { AuthSettings } from "./plugin-options.ts";
import type { RevocationCheck } from "./revocation.ts";

type Context = Pick<PluginContext<AuthSettings>, "options" | "nameOf" | "logger">;

/**
 * Returns the option `issuers` of `jwtAuth()` for the tables `[plugin.auth.issuers.<name>]`.
 *
 * @param issues whether the service issues tokens itself
 * @param store the service's store of revoked tokens, if it has one
 * @throws ConfigurationError for single-issuer options combined with the tables, and for a store that cannot be used
 */
export function issuersOf(
  { options, nameOf, logger }: Context,
  issues: boolean,
  store: RevocationCheck | undefined,
): Pick<JwtAuthOptions, "issuers"> {
  const tables = Object.entries(options.issuers);
  const nameIn = (name: string, option: string): string => nameOf(`issuers.${name}.${option}`);
  const revoking = tables
    .filter(([, { revocation }]) => revocation)
    .map(([name]) => nameIn(name, "revocation"));
  const keyless = tables
    .filter(([, { discovery, jwksUrl }]) => !discovery && jwksUrl === undefined)
    .map(([name]) => fault(nameIn(name, "jwksUrl"), "is missing: set it, or discovery = true"));
  const faults = [...singleFaults(options, issues, nameOf), ...storeFaults(revoking, store), ...keyless];
  if (faults.length > 0) throw new ConfigurationError("the service", faults);
  if (store !== undefined && revoking.length === 0) {
    logger.warn(
      {},
      "tokens are not checked for revocation: set revocation = true for the issuer whose sign-outs the store has",
    );
  }
  const issuers = tables.map(([name, { audience, algorithms, revocation, ...table }]): IssuerOptions => {
    const all = {
      ...table,
      audience: audience ?? options.audience,
      algorithms: (algorithms ?? options.algorithms) as IssuerOptions["algorithms"],
      revocation: revocation ? store : undefined,
    };
    return withNames(all, { subject: "the service", of: (option) => nameIn(name, option) });
  });
  return { issuers };
}

function singleFaults(options: AuthSettings, issues: boolean, nameOf: Context["nameOf"]): Fault[] {
  const tables = nameOf("issuers");
  const faults = (["issuer", "jwksUrl"] as const)
    .filter((option) => options[option] !== undefined && options[option] !== "")
    .map((option) => fault(nameOf(option), `cannot be combined with ${tables}; set it for each issuer`));
  if (options.keys !== undefined)
    faults.push(fault(nameOf("keys"), `cannot be combined with ${tables}, whose keys are fetched`));
  if (options.mode !== "jwks")
    faults.push(fault(tables, `needs mode jwks, which only the full profile has; mode is ${options.mode}`));
  if (issues) faults.push(fault(tables, "cannot be combined with issue_tokens"));
  return faults;
}

function storeFaults(revoking: readonly string[], store: RevocationCheck | undefined): Fault[] {
  const [first, second] = revoking;
  if (first !== undefined && store === undefined)
    return [
      fault(first, "needs a store of revoked tokens: enable the plugin cache, or pass auth.revocation"),
    ];
  if (first === undefined || second === undefined) return [];
  return [
    fault(
      second,
      `is also set by ${first}; set it for one issuer only, because the store cannot distinguish issuers`,
    ),
  ];
}

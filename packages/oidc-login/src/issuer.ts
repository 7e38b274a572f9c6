import type { Provider } from "./provider.ts";

const DIRECTORY = "{tenantid}";

/** The id of a directory, as Microsoft writes it. */
export const GUID: RegExp = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The issuer of one directory. Not by `replace`, which reads `$&` in what it puts in. */
export function issuerOfDirectory(template: string, directory: string): string {
  return template.split(DIRECTORY).join(directory);
}

/** Whether `iss` names the provider: for Microsoft any directory whose id is one. */
export function isIssuer({ kind, issuer, alsoIssuers }: Provider, iss: string): boolean {
  if (kind !== "microsoft") return iss === issuer || alsoIssuers.includes(iss);
  const at = issuer.indexOf(DIRECTORY);
  const directory = iss.slice(at, at + 36);
  return GUID.test(directory) && iss === issuerOfDirectory(issuer, directory);
}

import type { BuiltIn } from "./built-in.ts";

const DIRECTORY = "{tenantid}";

/** The form in which Microsoft writes the id of a directory. */
export const GUID: RegExp = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Returns the issuer of one directory. Avoids `replace`, which interprets `$&` in the replacement. */
export function issuerOfDirectory(template: string, directory: string): string {
  return template.split(DIRECTORY).join(directory);
}

/** Returns whether `iss` names the provider; for Microsoft, the issuer of any directory. */
export function isIssuer({ kind, issuer, alsoIssuers }: BuiltIn, iss: string): boolean {
  if (kind !== "microsoft") return iss === issuer || alsoIssuers.includes(iss);
  const at = issuer.indexOf(DIRECTORY);
  const directory = iss.slice(at, at + 36);
  return GUID.test(directory) && iss === issuerOfDirectory(issuer, directory);
}

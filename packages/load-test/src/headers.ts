import { LoadTestError } from "./errors.ts";

/** Headers of the connection, which the generator sets itself. */
export const ownHeaders: ReadonlySet<string> = new Set(
  "connection content-length expect keep-alive te trailer transfer-encoding upgrade".split(" "),
);

/** Returns whether a string can be the name of a header. */
export function isHeaderName(name: string): boolean {
  return /^[!#$%&'*+.^_`|~\w-]+$/.test(name);
}

/**
 * Returns the headers of every request by lower-case name. Error messages contain no value of a header, because it may
 * be a secret.
 */
export function headersOf(
  lines: readonly string[],
  token: string | undefined,
  names: { readonly headers: string; readonly token: string },
): Readonly<Record<string, string>> {
  const refuse = (message: string): LoadTestError =>
    new LoadTestError("ERR_SVC_LOAD_TEST_USAGE", `${names.headers} ${message}`);
  // There is no header by default: each one costs the generator a twentieth of its throughput.
  const headers: Record<string, string> = {};
  if (!Array.isArray(lines)) throw refuse("must be a list of headers such as 'X-Tenant: acme'");
  for (const line of lines as readonly unknown[]) {
    const [, name = "", value = ""] = /^([^:]*):[\t ]*([\t\x20-\x7e]*)$/.exec(textOf(line)) ?? [];
    const key = name.toLowerCase();
    if (!isHeaderName(key)) throw refuse("must be a header such as 'X-Tenant: acme', in ASCII");
    if (ownHeaders.has(key)) throw refuse(`must not set ${name}, which the load test sets itself`);
    if (key === "authorization" && token !== undefined)
      throw refuse(`Authorization and ${names.token} cannot be used together`);
    headers[key] = value.trim();
  }
  if (token !== undefined) headers["authorization"] = `Bearer ${token}`;
  return headers;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A failed attempt to find or start a server, with the reason. */
export interface Attempt {
  readonly rung: string;
  readonly reason: string;
}

/** Thrown if no server can be found or started on this machine. Names every attempt. */
export class NoServerError extends Error {
  override readonly name = "NoServerError";
  readonly code = "ERR_SVC_NO_SERVER";
  readonly attempts: readonly Attempt[];
  /** The message on a single line. */
  readonly summary: string;

  /**
   * @param kind what was needed, for example `PostgreSQL`
   * @param attempts every attempt with its reason, in order
   * @param remedy the command that solves the problem
   */
  constructor(kind: string, attempts: readonly Attempt[], remedy: string) {
    const lines = attempts.map(({ rung, reason }) => `  - ${rung}: ${reason}`);
    super(`No ${kind} could be started or reached:\n${lines.join("\n")}\nTo fix this: ${remedy}`);
    this.attempts = attempts;
    const tried = attempts.map(({ rung, reason }) => `${rung}: ${reason}`.replaceAll(/\s+/g, " "));
    this.summary = `no ${kind} (${tried.join("; ")}); ${remedy}`;
  }
}

/** Returns a URL that is safe to print: without password and without parameters, which may contain a password too. */
export function maskUrl(url: string): string {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    return "(not a valid URL; it is not shown)";
  }
  // A value without `//` parses as scheme and path, and the path may contain a secret.
  if (parsed.host === "") return "(not a valid URL; it is not shown)";
  if (parsed.password !== "") parsed.password = "***";
  parsed.search = "";
  parsed.hash = "";
  return parsed.href;
}

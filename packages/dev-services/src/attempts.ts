/** One way to find or start a server that failed, with the reason. */
export interface Attempt {
  readonly rung: string;
  readonly reason: string;
}

/** Thrown when no server can be found or started on this machine. Names every way that was tried. */
export class NoServerError extends Error {
  override readonly name = "NoServerError";
  readonly code = "ERR_SVC_NO_SERVER";
  readonly attempts: readonly Attempt[];
  /** The message on one line. */
  readonly summary: string;

  /**
   * @param kind what was needed, for example `PostgreSQL`
   * @param attempts every way with its reason, in the order in which they were tried
   * @param remedy the command that repairs it
   */
  constructor(kind: string, attempts: readonly Attempt[], remedy: string) {
    const lines = attempts.map(({ rung, reason }) => `  - ${rung}: ${reason}`);
    super(`No ${kind} could be started or reached:\n${lines.join("\n")}\nTo repair it: ${remedy}`);
    this.attempts = attempts;
    const tried = attempts.map(({ rung, reason }) => `${rung}: ${reason}`.replaceAll(/\s+/g, " "));
    this.summary = `no ${kind} (${tried.join("; ")}); ${remedy}`;
  }
}

/** Returns a URL that is safe to print: without its password and without its parameters, which may hold one too. */
export function maskUrl(url: string): string {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    return "(not a valid URL; it is not shown)";
  }
  // A value without `//` parses as a scheme and a path, and the path may hold a secret.
  if (parsed.host === "") return "(not a valid URL; it is not shown)";
  if (parsed.password !== "") parsed.password = "***";
  parsed.search = "";
  parsed.hash = "";
  return parsed.href;
}

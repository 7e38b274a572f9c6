/** One way to a server that was tried or looked at, and why it led nowhere. */
export interface Attempt {
  readonly rung: string;
  readonly reason: string;
}

/** Thrown when there is no way to a server on this machine. Names every way that was tried. */
export class NoServerError extends Error {
  override readonly name = "NoServerError";
  readonly code = "ERR_SVC_NO_SERVER";
  readonly attempts: readonly Attempt[];
  /** The message on one line. */
  readonly summary: string;

  /**
   * @param kind what was wanted, for example `PostgreSQL`
   * @param attempts every rung with its reason, in the order in which they were tried
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

/** A URL that is safe to print: without its password and without its parameters, which may hold one too. */
export function maskUrl(url: string): string {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    return "(not a valid URL; it is not shown)";
  }
  // What has no `//` is read as a scheme and a path, and the path may hold anything.
  if (parsed.host === "") return "(not a valid URL; it is not shown)";
  if (parsed.password !== "") parsed.password = "***";
  parsed.search = "";
  parsed.hash = "";
  return parsed.href;
}

// Libraries such as object-relational mappers wrap errors; a deeper cause is unlikely to describe the same failure.
const MAX_DEPTH = 5;

// 08: connection exceptions. 53300: too many connections. 57P01 to 57P05: shutdown, crash, starting up, database dropped,
// idle session ended. 25P03: idle transaction ended. In each case the connection is lost.
const STATES_WITHOUT_CONNECTION = /^(?:08...|53300|57P0[1-5]|25P03)$/;

const SYSTEM_CODES: ReadonlySet<string> = new Set([
  "EADDRNOTAVAIL",
  "EAI_AGAIN",
  "ECONNABORTED",
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTDOWN",
  "EHOSTUNREACH",
  "ENETDOWN",
  "ENETRESET",
  "ENETUNREACH",
  "ENOTCONN",
  "ENOTFOUND",
  "EPIPE",
  "ETIMEDOUT",
]);

// Errors that `pg` and its pool throw without a code.
const MESSAGES =
  /^(?:Connection terminated|timeout expired|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed and is not queryable|Cannot use a pool after calling end)/;

/**
 * Returns the SQLSTATE of an error (five characters), or undefined when the server did not raise it. Follows `cause`.
 */
export function sqlStateOf(error: unknown): string | undefined {
  return first(error, (each) => stateIn(each.code));
}

/**
 * Returns whether the connection to the database failed or was lost, so the outcome of a running statement is unknown.
 * Returns false for a rejected password or an unknown database, where waiting does not help, and for a statement that took
 * too long.
 */
export function isConnectionError(error: unknown): boolean {
  const found = first(error, (each) => {
    const state = stateIn(each.code);
    if (state !== undefined) return STATES_WITHOUT_CONNECTION.test(state);
    if (typeof each.code === "string" && SYSTEM_CODES.has(each.code)) return true;
    // The Unix socket does not exist; ENOENT from any other call refers to a file.
    if (each.code === "ENOENT" && each.syscall === "connect") return true;
    return (typeof each.message === "string" && MESSAGES.test(each.message)) || undefined;
  });
  return found ?? false;
}

/**
 * Returns a string that is safe to show to any client: the SQLSTATE, the system call's error code, or the error's class
 * name. Never returns the message, which may contain host names, values and passwords.
 */
export function safeErrorText(error: unknown): string {
  const state = sqlStateOf(error);
  if (state !== undefined) return `SQLSTATE ${state}`;
  const code = first(error, (each) => matching(each.code, /^[A-Z][A-Z0-9_]{1,60}$/));
  return code ?? first(error, (each) => matching(each.name, /^[A-Za-z_$][\w$]{0,60}$/)) ?? "unknown error";
}

export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

interface Looked {
  readonly code?: unknown;
  readonly syscall?: unknown;
  readonly message?: unknown;
  readonly name?: unknown;
  readonly cause?: unknown;
}

/** Returns the first defined result along the chain of causes. */
function first<T>(error: unknown, ask: (error: Looked) => T | undefined): T | undefined {
  let current = error;
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    if (typeof current !== "object" || current === null) return undefined;
    const answer = ask(current);
    if (answer !== undefined) return answer;
    current = (current as Looked).cause;
  }
  return undefined;
}

function stateIn(code: unknown): string | undefined {
  const state = matching(code, /^[0-9A-Z]{5}$/);
  // EPIPE, EPERM and EBUSY also have five letters, but no SQLSTATE class begins with E.
  return state !== undefined && /^E[A-Z]+$/.test(state) ? undefined : state;
}

function matching(value: unknown, pattern: RegExp): string | undefined {
  return typeof value === "string" && pattern.test(value) ? value : undefined;
}

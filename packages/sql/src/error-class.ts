// An error is often wrapped, by a data mapper for one; deeper than this it is hardly the same story.
const MAX_DEPTH = 5;

// 08: connection exceptions. 53300: too many connections. 57P01 to 57P05: shut down, crashed, starting, database
// dropped, idle session ended. 25P03: idle transaction ended. In all of them the connection is gone or never was.
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

// What `pg` and its pool throw without a code.
const MESSAGES =
  /^(?:Connection terminated|timeout expired|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed and is not queryable|Cannot use a pool after calling end)/;

/**
 * The SQLSTATE of an error, five characters, or undefined when the server did not raise it. Looks into `cause` too.
 */
export function sqlStateOf(error: unknown): string | undefined {
  return first(error, (each) => stateIn(each.code));
}

/**
 * Whether an error says that there was no connection to the database, or that it was lost: nothing is known about a
 * statement that was under way. A refused password or an unknown database is not one (waiting does not help), nor is a
 * statement that took too long.
 */
export function isConnectionError(error: unknown): boolean {
  const found = first(error, (each) => {
    const state = stateIn(each.code);
    if (state !== undefined) return STATES_WITHOUT_CONNECTION.test(state);
    if (typeof each.code === "string" && SYSTEM_CODES.has(each.code)) return true;
    // A Unix socket that is not there; any other ENOENT is about a file.
    if (each.code === "ENOENT" && each.syscall === "connect") return true;
    return (typeof each.message === "string" && MESSAGES.test(each.message)) || undefined;
  });
  return found ?? false;
}

/**
 * What may be shown of a database error to anybody: its SQLSTATE, the code of the system call, or the name of its class.
 * Never its message, which may hold host names, values and passwords.
 */
export function safeErrorText(error: unknown): string {
  const state = sqlStateOf(error);
  if (state !== undefined) return `SQLSTATE ${state}`;
  const code = first(error, (each) => matching(each.code, /^[A-Z][A-Z0-9_]{1,60}$/));
  return code ?? first(error, (each) => matching(each.name, /^[A-Za-z_$][\w$]{0,60}$/)) ?? "unknown error";
}

interface Looked {
  readonly code?: unknown;
  readonly syscall?: unknown;
  readonly message?: unknown;
  readonly name?: unknown;
  readonly cause?: unknown;
}

/** The first answer along the chain of causes. */
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
  // EPIPE, EPERM and EBUSY have five letters as well; no class of SQLSTATE begins with E.
  return state !== undefined && /^E[A-Z]+$/.test(state) ? undefined : state;
}

function matching(value: unknown, pattern: RegExp): string | undefined {
  return typeof value === "string" && pattern.test(value) ? value : undefined;
}

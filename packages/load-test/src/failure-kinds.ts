/** The kinds of transport failures (LOAD-6). */
export type FailureKind = "refused" | "reset" | "timeout" | "badAnswer";

const kinds: Readonly<Record<string, FailureKind>> = {
  ECONNREFUSED: "refused",
  EHOSTUNREACH: "refused",
  ENETUNREACH: "refused",
  ENOTFOUND: "refused",
  EAI_AGAIN: "refused",
  EADDRNOTAVAIL: "refused",
  EMFILE: "refused",
  ECONNRESET: "reset",
  EPIPE: "reset",
  UND_ERR_SOCKET: "reset",
  ETIMEDOUT: "timeout",
  UND_ERR_CONNECT_TIMEOUT: "timeout",
};

/** Returns the kind of a failure. */
export function kindOf(error: Error): FailureKind {
  const code = codeOf(error);
  // undici reports responses that must not occur, such as 100 and 101, as errors of the socket.
  if (code === "UND_ERR_SOCKET" && error.message.startsWith("bad ")) return "badAnswer";
  return kinds[code] ?? "badAnswer";
}

/** Returns the code of a failure and, if it has one, its message. */
export function failureText(error: unknown): string {
  const { message } = error as Error;
  const code = codeOf(error);
  return message === "" || message.includes(code) ? message || code : `${message} (${code})`;
}

/** Returns the code of an error, or of the first cause if Node.js tried several addresses. */
export function codeOf(error: unknown): string {
  const { code, errors } = error as { code?: unknown; errors?: readonly unknown[] };
  if (typeof code === "string") return code;
  return errors?.[0] === undefined ? "" : codeOf(errors[0]);
}

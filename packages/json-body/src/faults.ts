import type { IncomingMessage } from "node:http";
import { internalError, ProblemError } from "@svc/problem";

/** Machine-readable codes of this package's problems. Clients never see them. */
export type JsonBodyCode =
  | "ERR_SVC_BODY_TOO_LARGE"
  | "ERR_SVC_BODY_INCOMPLETE"
  | "ERR_SVC_BODY_CHARSET"
  | "ERR_SVC_BODY_ENCODING"
  | "ERR_SVC_BODY_NOT_INFLATABLE"
  | "ERR_SVC_BODY_NOT_UTF8"
  | "ERR_SVC_BODY_MALFORMED"
  | "ERR_SVC_BODY_TOO_DEEP"
  | "ERR_SVC_BODY_SCALAR"
  | "ERR_SVC_BODY_FORBIDDEN_KEY"
  | "ERR_SVC_BODY_NOT_VERIFIED"
  | "ERR_SVC_BODY_ALREADY_READ"
  | "ERR_SVC_FORM_TOO_MANY_FIELDS"
  | "ERR_SVC_CONTENT_TYPE";

/** Returns a 413 (LIM-1). It closes the connection, so that the rest of the body is not read. */
export function tooLarge(maxBytes: number): ProblemError {
  return new ProblemError(413, `the body is larger than ${maxBytes} bytes`, {
    code: "ERR_SVC_BODY_TOO_LARGE",
    headers: { Connection: "close" },
  });
}

/** Returns a 400 whose detail does not quote the body. */
export function malformed(code: JsonBodyCode, detail: string): ProblemError {
  return new ProblemError(400, detail, { code });
}

/** Returns a 500 for a reader that is mounted behind another reader of the same body. */
export function alreadyRead(reader: string): ProblemError {
  const code: JsonBodyCode = "ERR_SVC_BODY_ALREADY_READ";
  return internalError({ code, cause: new Error(`${reader} must be mounted before other body parsers`) });
}

/** Returns a 415 for a body that has not been read. */
export function unsupported(
  req: IncomingMessage,
  code: JsonBodyCode,
  detail: string,
  accepts?: Readonly<Record<string, string>>,
): ProblemError {
  // On an open connection, Node reads an unread body to its end, so close the connection unless the body is short.
  const isShort = Number(req.headers["content-length"] ?? Infinity) <= SHORT;
  return new ProblemError(415, detail, {
    code,
    headers: { ...accepts, ...(isShort ? {} : { Connection: "close" }) },
  });
}

const SHORT = 2 * 1024 * 1024;

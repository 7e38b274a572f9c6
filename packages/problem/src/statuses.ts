/**
 * The phrase of every error status, fixed because Node's table changes between versions (ERR-3), and the code of problems
 * with that status.
 */
const STATUSES = {
  400: ["Bad Request", "ERR_SVC_BAD_REQUEST"],
  401: ["Unauthorized", "ERR_SVC_UNAUTHORIZED"],
  402: ["Payment Required"],
  403: ["Forbidden", "ERR_SVC_FORBIDDEN"],
  404: ["Not Found", "ERR_SVC_NOT_FOUND"],
  405: ["Method Not Allowed", "ERR_SVC_METHOD_NOT_ALLOWED"],
  406: ["Not Acceptable"],
  407: ["Proxy Authentication Required"],
  408: ["Request Timeout", "ERR_SVC_REQUEST_TIMEOUT"],
  409: ["Conflict", "ERR_SVC_CONFLICT"],
  410: ["Gone"],
  411: ["Length Required"],
  412: ["Precondition Failed"],
  413: ["Payload Too Large", "ERR_SVC_PAYLOAD_TOO_LARGE"],
  414: ["URI Too Long"],
  415: ["Unsupported Media Type", "ERR_SVC_UNSUPPORTED_MEDIA_TYPE"],
  416: ["Range Not Satisfiable"],
  417: ["Expectation Failed", "ERR_SVC_EXPECTATION_FAILED"],
  418: ["I'm a Teapot"],
  421: ["Misdirected Request"],
  422: ["Unprocessable Entity", "ERR_SVC_UNPROCESSABLE"],
  423: ["Locked"],
  424: ["Failed Dependency"],
  425: ["Too Early"],
  426: ["Upgrade Required"],
  428: ["Precondition Required"],
  429: ["Too Many Requests", "ERR_SVC_TOO_MANY_REQUESTS"],
  431: ["Request Header Fields Too Large", "ERR_SVC_HEADERS_TOO_LARGE"],
  451: ["Unavailable For Legal Reasons"],
  500: ["Internal Server Error", "ERR_SVC_INTERNAL"],
  501: ["Not Implemented"],
  502: ["Bad Gateway", "ERR_SVC_BAD_GATEWAY"],
  503: ["Service Unavailable", "ERR_SVC_SERVICE_UNAVAILABLE"],
  504: ["Gateway Timeout", "ERR_SVC_GATEWAY_TIMEOUT"],
  505: ["HTTP Version Not Supported"],
  506: ["Variant Also Negotiates"],
  507: ["Insufficient Storage"],
  508: ["Loop Detected"],
  510: ["Not Extended"],
  511: ["Network Authentication Required"],
} as const satisfies Readonly<Record<number, readonly [phrase: string, code?: string]>>;

/**
 * The problem codes of this package. Other packages add their own codes, in the same form. Codes are for logs and for
 * code that handles errors; clients never see them. A status without its own code has `ERR_SVC_PROBLEM`.
 */
export type ProblemCode =
  | Extract<(typeof STATUSES)[keyof typeof STATUSES], readonly [string, string]>[1]
  | "ERR_SVC_MISSING_SCOPES"
  | "ERR_SVC_MISSING_ROLES"
  | "ERR_SVC_PROBLEM";

const BY_NUMBER: Readonly<Record<number, readonly [phrase: string, code?: ProblemCode]>> = STATUSES;

/** Returns the phrase of an error status (ERR-3), or its class's phrase for an unknown status. */
export function statusPhrase(status: number): string {
  return BY_NUMBER[status]?.[0] ?? (status >= 500 ? "Server Error" : "Client Error");
}

/** Returns the default code of a status. */
export function statusCode(status: number): ProblemCode {
  return BY_NUMBER[status]?.[1] ?? "ERR_SVC_PROBLEM";
}

/** Returns the default detail of a status: its fixed text, or its phrase. */
export function defaultDetail(status: number): string {
  if (status === 401) return "authentication required";
  return status === 500 ? GENERIC_DETAIL : statusPhrase(status);
}

/** The detail for an unexpected error (ERR-8). */
export const GENERIC_DETAIL = "An unexpected error occurred";

/** The phrase of every error status, fixed because Node's table changes between versions (ERR-3). */
const PHRASES = {
  400: "Bad Request",
  401: "Unauthorized",
  402: "Payment Required",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  406: "Not Acceptable",
  407: "Proxy Authentication Required",
  408: "Request Timeout",
  409: "Conflict",
  410: "Gone",
  411: "Length Required",
  412: "Precondition Failed",
  413: "Payload Too Large",
  414: "URI Too Long",
  415: "Unsupported Media Type",
  416: "Range Not Satisfiable",
  417: "Expectation Failed",
  418: "I'm a Teapot",
  421: "Misdirected Request",
  422: "Unprocessable Entity",
  423: "Locked",
  424: "Failed Dependency",
  425: "Too Early",
  426: "Upgrade Required",
  428: "Precondition Required",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  451: "Unavailable For Legal Reasons",
  500: "Internal Server Error",
  501: "Not Implemented",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
  505: "HTTP Version Not Supported",
  506: "Variant Also Negotiates",
  507: "Insufficient Storage",
  508: "Loop Detected",
  510: "Not Extended",
  511: "Network Authentication Required",
} as const;

const TABLE: ReadonlyMap<number, string> = new Map(
  Object.entries(PHRASES).map(([status, phrase]) => [Number(status), phrase]),
);

/** Returns the phrase of an error status (ERR-3), or that of its class for an unknown status. */
export function statusPhrase(status: number): string {
  return TABLE.get(status) ?? (status >= 500 ? "Server Error" : "Client Error");
}

/**
 * The codes of the problems of this package. Other packages add their own, in the same form. A code is for programs and
 * logs; clients never see it.
 */
export type ProblemCode =
  | "ERR_SVC_BAD_REQUEST"
  | "ERR_SVC_UNAUTHORIZED"
  | "ERR_SVC_FORBIDDEN"
  | "ERR_SVC_MISSING_SCOPES"
  | "ERR_SVC_MISSING_ROLES"
  | "ERR_SVC_NOT_FOUND"
  | "ERR_SVC_METHOD_NOT_ALLOWED"
  | "ERR_SVC_REQUEST_TIMEOUT"
  | "ERR_SVC_CONFLICT"
  | "ERR_SVC_PAYLOAD_TOO_LARGE"
  | "ERR_SVC_UNSUPPORTED_MEDIA_TYPE"
  | "ERR_SVC_EXPECTATION_FAILED"
  | "ERR_SVC_UNPROCESSABLE"
  | "ERR_SVC_TOO_MANY_REQUESTS"
  | "ERR_SVC_HEADERS_TOO_LARGE"
  | "ERR_SVC_INTERNAL"
  | "ERR_SVC_BAD_GATEWAY"
  | "ERR_SVC_SERVICE_UNAVAILABLE"
  | "ERR_SVC_GATEWAY_TIMEOUT"
  /** Any other status without a code. */
  | "ERR_SVC_PROBLEM";

const CODES: ReadonlyMap<number, ProblemCode> = new Map<number, ProblemCode>([
  [400, "ERR_SVC_BAD_REQUEST"],
  [401, "ERR_SVC_UNAUTHORIZED"],
  [403, "ERR_SVC_FORBIDDEN"],
  [404, "ERR_SVC_NOT_FOUND"],
  [405, "ERR_SVC_METHOD_NOT_ALLOWED"],
  [408, "ERR_SVC_REQUEST_TIMEOUT"],
  [409, "ERR_SVC_CONFLICT"],
  [413, "ERR_SVC_PAYLOAD_TOO_LARGE"],
  [415, "ERR_SVC_UNSUPPORTED_MEDIA_TYPE"],
  [417, "ERR_SVC_EXPECTATION_FAILED"],
  [422, "ERR_SVC_UNPROCESSABLE"],
  [429, "ERR_SVC_TOO_MANY_REQUESTS"],
  [431, "ERR_SVC_HEADERS_TOO_LARGE"],
  [500, "ERR_SVC_INTERNAL"],
  [502, "ERR_SVC_BAD_GATEWAY"],
  [503, "ERR_SVC_SERVICE_UNAVAILABLE"],
  [504, "ERR_SVC_GATEWAY_TIMEOUT"],
]);

/** Returns the default code of a status. */
export function statusCode(status: number): ProblemCode {
  return CODES.get(status) ?? "ERR_SVC_PROBLEM";
}

/** Returns the default detail of a status: its fixed text, or its phrase. */
export function defaultDetail(status: number): string {
  if (status === 401) return "authentication required";
  return status === 500 ? GENERIC_DETAIL : statusPhrase(status);
}

/** The detail for an unexpected error (ERR-8). */
export const GENERIC_DETAIL = "An unexpected error occurred";

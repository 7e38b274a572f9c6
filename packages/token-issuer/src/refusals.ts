import { ProblemError, serviceUnavailable } from "@svc/problem";

/** Machine-readable reason for a rejected refresh. */
export type RefreshRefusal =
  "invalid" | "access_token" | "no_id" | "no_family" | "no_grant" | "revoked" | "rotated" | "ended";

interface RefusalText {
  readonly code: string;
  readonly detail: string;
}

// Clients compare these details byte for byte (REF-13).
const texts: Readonly<Record<RefreshRefusal, RefusalText>> = {
  invalid: { code: "ERR_SVC_REFRESH_INVALID", detail: "invalid refresh token" },
  access_token: {
    code: "ERR_SVC_REFRESH_ACCESS_TOKEN",
    detail: "an access token cannot be used to refresh",
  },
  no_id: { code: "ERR_SVC_REFRESH_NO_ID", detail: "refresh token has no id" },
  no_family: { code: "ERR_SVC_REFRESH_NO_FAMILY", detail: "refresh token carries no session family" },
  no_grant: {
    code: "ERR_SVC_REFRESH_NO_GRANT",
    detail: "this refresh token predates scope-preserving rotation",
  },
  revoked: { code: "ERR_SVC_SESSION_REVOKED", detail: "this session has been revoked" },
  rotated: { code: "ERR_SVC_REFRESH_ROTATED", detail: "this refresh token has already been rotated" },
  ended: { code: "ERR_SVC_SESSION_ENDED", detail: "this session is no longer valid" },
};

/** Creates the 401 error for a rejected refresh, with its fixed text (REF-13). */
export function refreshRefused(refusal: RefreshRefusal): ProblemError {
  const { code, detail } = texts[refusal];
  return new ProblemError(401, detail, { code, headers: { "WWW-Authenticate": "Bearer" } });
}

/** Creates the 503 error for an operation whose store does not respond (ISS-17, REF-17). */
export function storeUnavailable(retryAfterSeconds: number, cause: unknown): ProblemError {
  return serviceUnavailable("the revocation store is not answering; retry shortly", {
    code: "ERR_SVC_TOKEN_STORE_UNAVAILABLE",
    retryAfterSeconds,
    cause,
  });
}

/** Thrown for a request that the issuer cannot fulfil. The message never contains a value. */
export class IssueError extends TypeError {
  override readonly name = "IssueError";
  readonly code = "ERR_SVC_ISSUE";
}

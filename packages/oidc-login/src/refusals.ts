import { ProblemError, serviceUnavailable } from "@svc/problem";

/** Machine-readable reason for a rejected sign-in. Logs contain it, responses never do. */
export type LoginRefusal =
  | "no_login"
  | "login_expired"
  | "state"
  | "provider_mismatch"
  | "parameters"
  | "provider_error"
  | "issuer_parameter"
  | "code_refused"
  | "exchange_answer"
  | "no_id_token"
  | "id_token"
  | "nonce"
  | "authorized_party"
  | "issuer"
  | "subject"
  | "directory"
  | "profile"
  | "provider_unreachable"
  | "keys_unavailable";

/** Thrown for a rejected sign-in; becomes the `cause` of the ProblemError. */
export class LoginError extends Error {
  override readonly name = "LoginError";
  readonly reason: LoginRefusal;
  /** Detail of the fault, if known, such as the name of a claim, an HTTP status or an error code. */
  readonly at: string | undefined;
  /** Whether the provider could not be reached. */
  readonly unavailable: boolean;

  constructor(reason: LoginRefusal, at?: string) {
    super(at === undefined ? reason : `${reason} (${at})`);
    this.reason = reason;
    this.at = at;
    this.unavailable = reason === "provider_unreachable" || reason === "keys_unavailable";
  }
}

/** Creates the problem for a rejected sign-in. Every client sees the same text (OIDC-12). */
export function problemOf(error: LoginError): ProblemError {
  if (error.unavailable) {
    return serviceUnavailable("the sign-in provider is not answering; retry shortly", {
      code: "ERR_SVC_LOGIN_UNAVAILABLE",
      retryAfterSeconds: 5,
      cause: error,
    });
  }
  return new ProblemError(401, "this sign-in could not be completed; start it again", {
    code: "ERR_SVC_LOGIN_REFUSED",
    cause: error,
  });
}

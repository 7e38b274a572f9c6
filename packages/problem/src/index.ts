export { attachProblems, problemServerOptions } from "./attach.ts";
export type { ProblemFields } from "./document.ts";
export { jsonSafe } from "./json-safe.ts";
export { type LastMiddleware, notFound } from "./not-found.ts";
export type { AttachProblemsOptions, ProblemHandlerOptions } from "./options.ts";
export { isProblemError, ProblemError, type ProblemOptions } from "./problem-error.ts";
export { type ErrorMiddleware, problemHandler, responseError } from "./problem-handler.ts";
export {
  badGateway,
  badRequest,
  conflict,
  type ExceededLimit,
  forbidden,
  gatewayTimeout,
  internalError,
  methodNotAllowed,
  missingRoles,
  missingScopes,
  notFoundError,
  payloadTooLarge,
  type ReadyOptions,
  type RetryOptions,
  serviceUnavailable,
  tooManyRequests,
  unauthorized,
  unprocessable,
  unsupportedMediaType,
  type ValidationIssue,
} from "./problems.ts";
export { PROBLEM_TYPE, sendJson, sendProblem, type SendableProblem } from "./send.ts";
export { silence } from "./silence.ts";
export { type ProblemCode, statusPhrase } from "./statuses.ts";

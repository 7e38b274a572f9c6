export { attachProblems, problemServerOptions } from "./node-refusals.ts";
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
  forbidden,
  gatewayTimeout,
  internalError,
  methodNotAllowed,
  missingRoles,
  missingScopes,
  notFoundError,
  payloadTooLarge,
  type ReadyOptions,
  unauthorized,
  unprocessable,
  unsupportedMediaType,
  type ValidationIssue,
} from "./problems.ts";
export { type ExceededLimit, type RetryOptions, serviceUnavailable, tooManyRequests } from "./retry-after.ts";
export { PROBLEM_TYPE, sendJson, sendProblem, type SendableProblem } from "./send.ts";
export { silence } from "./silence.ts";
export { type ProblemCode, statusPhrase } from "./statuses.ts";

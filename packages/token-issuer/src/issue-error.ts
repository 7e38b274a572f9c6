/** Thrown for a request that the issuer cannot fulfil. The message never contains a value. */
export class IssueError extends TypeError {
  override readonly name = "IssueError";
  readonly code = "ERR_SVC_ISSUE";
}

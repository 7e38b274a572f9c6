/** Thrown for what an issuer cannot do as it was asked to. Its message never shows a value. */
export class IssueError extends TypeError {
  override readonly name = "IssueError";
  readonly code = "ERR_SVC_ISSUE";
}

/** The codes of {@link LoadTestError}. */
export type LoadTestErrorCode =
  | "ERR_SVC_LOAD_TEST_USAGE"
  | "ERR_SVC_LOAD_TEST_TARGET"
  | "ERR_SVC_LOAD_TEST_DESCRIPTION"
  | "ERR_SVC_LOAD_TEST_ROUTES";

/**
 * A load test that cannot start. `_USAGE`: an option is invalid; `_TARGET`: no connection to the service;
 * `_DESCRIPTION`: `/openapi.json` cannot be read; `_ROUTES`: no route can be loaded.
 */
export class LoadTestError extends Error {
  override readonly name = "LoadTestError";
  readonly code: LoadTestErrorCode;

  constructor(code: LoadTestErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

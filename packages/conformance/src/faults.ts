/** Everything that is wrong with how the kit was called: options, arguments or files. The command line exits with 2. */
export class InvalidUse extends Error {
  override readonly name = "InvalidUse";
  readonly code = "ERR_SVC_CONFORMANCE_USE";
  /** One line each; never a secret. */
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join("\n"));
    this.faults = faults;
  }
}

/** Error that lists all faults in the kit's options, arguments and files. The command line then exits with 2. */
export class InvalidUse extends Error {
  override readonly name = "InvalidUse";
  readonly code = "ERR_SVC_CONFORMANCE_USE";
  /** One line per fault; never contains a secret. */
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join("\n"));
    this.faults = faults;
  }
}

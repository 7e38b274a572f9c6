/** Thrown for a name that PostgreSQL would refuse or truncate. */
export class IdentifierError extends TypeError {
  override readonly name = "IdentifierError";
  readonly code = "ERR_SVC_IDENTIFIER";
}

/** Thrown for a transaction that cannot run as requested. */
export class TransactionError extends Error {
  override readonly name = "TransactionError";
  readonly code = "ERR_SVC_TRANSACTION";
}

/** Thrown when an existing schema differs from the required schema, or when the statements do not create it. */
export class SchemaError extends Error {
  override readonly name = "SchemaError";
  readonly code = "ERR_SVC_SCHEMA";
  /** One line for each fault; at least one. */
  readonly faults: readonly string[];

  constructor(schema: string, faults: readonly string[]) {
    super(`the schema ${schema} is not as expected:\n${faults.map((fault) => `  - ${fault}`).join("\n")}`);
    this.faults = faults;
  }
}

/** Thrown for an invalid option to a function of this package. */
export class OptionError extends TypeError {
  override readonly name = "OptionError";
  readonly code = "ERR_SVC_CONFIGURATION";
}

/** Base class for errors of packages that store data in tables. `Code` lists the codes of one package. */
export class TableError<Code extends string> extends Error {
  readonly code: Code;

  /**
   * @param code machine-readable reason
   * @param message human-readable reason
   * @param options `cause`
   */
  constructor(code: Code, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Thrown for a name that PostgreSQL would refuse or silently cut. */
export class IdentifierError extends TypeError {
  override readonly name = "IdentifierError";
  readonly code = "ERR_SVC_IDENTIFIER";
}

/** Thrown for a transaction that cannot do what was asked of it. */
export class TransactionError extends Error {
  override readonly name = "TransactionError";
  readonly code = "ERR_SVC_TRANSACTION";
}

/** Thrown for a schema that is there but is another one, or that its own statements do not make. */
export class SchemaError extends Error {
  override readonly name = "SchemaError";
  readonly code = "ERR_SVC_SCHEMA";
  /** What is wrong, one line each, at least one. */
  readonly faults: readonly string[];

  constructor(schema: string, faults: readonly string[]) {
    super(`the schema ${schema} is not as expected:\n${faults.map((fault) => `  - ${fault}`).join("\n")}`);
    this.faults = faults;
  }
}

/** Thrown when a function of this package is given an option that it cannot work with. */
export class OptionError extends TypeError {
  override readonly name = "OptionError";
  readonly code = "ERR_SVC_CONFIGURATION";
}

import type { Logger } from "@svc/context";
import { boolean, objectWith, optional, type OptionalKind, withDefault } from "@svc/options";

/** Options of `problemHandler()`. */
export interface ProblemHandlerOptions {
  /** Whether clients see the message of an unexpected error (ERR-7). Never its stack. Default: false. */
  readonly debug?: boolean | undefined;
  /** Where errors are logged. Default: the logger of the request's context; without one, nowhere. */
  readonly logger?: Logger | undefined;
}

export const handlerKinds: {
  readonly debug: OptionalKind<boolean, boolean>;
  readonly logger: OptionalKind<Logger, undefined>;
} = {
  debug: withDefault(boolean(), false),
  logger: optional(objectWith<Logger>("a logger", "debug", "error")),
};

export { atMostEvery, type AtMostEveryOptions } from "./at-most-every.ts";
export { backoff, type BackoffOptions } from "./backoff.ts";
export {
  AnswerTooLargeError,
  type BoundedAnswer,
  boundedFetch,
  type BoundedFetchOptions,
  jsonOf,
} from "./bounded-fetch.ts";
export {
  type Attempt,
  type Breaker,
  type BreakerChange,
  BreakerOpenError,
  type BreakerOptions,
  type BreakerState,
  createBreaker,
  type Outcome,
} from "./breaker.ts";
export { DeadlineError, type DeadlineOptions, endsWithin, isThenable, withDeadline } from "./deadline.ts";
export { createEmitter, type Emitter } from "./emitter.ts";
export { errorFields } from "./error-fields.ts";
export { type Clock, OptionError } from "./options.ts";
export { remember, type RememberOptions } from "./remember.ts";
export { safeLogger } from "./safe-logger.ts";
export { singleFlight, type SingleFlight } from "./single-flight.ts";

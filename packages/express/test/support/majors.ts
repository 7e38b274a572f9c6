import { expressMajors } from "@svc/test-support";

/** Defines the same tests for Express 4 and Express 5. */
export function onBothMajors(define: (express: (typeof expressMajors)["express 5"]) => void): void {
  for (const [name, express] of Object.entries(expressMajors)) {
    describe(`on ${name}`, () => {
      define(express);
    });
  }
}

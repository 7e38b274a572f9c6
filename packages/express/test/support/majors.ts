import { expressMajors } from "@svc/test-support";

/** Defines the same tests for both majors of Express. */
export function onBothMajors(define: (express: (typeof expressMajors)["express 5"]) => void): void {
  for (const [name, express] of Object.entries(expressMajors)) {
    describe(`on ${name}`, () => {
      define(express);
    });
  }
}

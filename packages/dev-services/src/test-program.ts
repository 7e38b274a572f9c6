import type { Program, ProgramName } from "./programs.ts";
import { requireProgram } from "./require-program.ts";
import { skipSuiteUnless } from "./skip-suite.ts";

/** A program of this machine. */
export interface TestProgram {
  /** Where it is. */
  readonly path: string;
}

/**
 * For a `describe`: a program that its tests start. Where it is missing the describe is skipped as a whole, hooks
 * included, and the package to install is printed.
 *
 * @param wanted a name, or a program that no other suite needs
 */
export function testProgram(wanted: ProgramName | Program): TestProgram {
  skipSuiteUnless("testProgram()", () => requireProgram(wanted));
  return {
    get path() {
      return requireProgram(wanted);
    },
  };
}

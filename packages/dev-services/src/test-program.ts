import type { Program, ProgramName } from "./programs.ts";
import { requireProgram } from "./require-program.ts";
import { skipSuiteUnless } from "./skip-suite.ts";

/** A program on this machine. */
export interface TestProgram {
  /** The path of its file. */
  readonly path: string;
}

/**
 * Gives a `describe` a program that its tests start. When it is missing, the describe is skipped with its hooks, and the
 * package to install is printed.
 *
 * @param wanted a name, or the description of a program that only this suite needs
 */
export function testProgram(wanted: ProgramName | Program): TestProgram {
  skipSuiteUnless("testProgram()", () => requireProgram(wanted));
  return {
    get path() {
      return requireProgram(wanted);
    },
  };
}

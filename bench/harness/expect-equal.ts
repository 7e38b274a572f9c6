/** @throws Error with the expected and the actual value when they differ */
export function expectEqual(what: string, actual: unknown, expected: unknown): void {
  if (actual === expected) return;
  throw new Error(`${what} should be ${JSON.stringify(expected)} and is ${JSON.stringify(actual)}`);
}

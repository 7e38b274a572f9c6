import { createVerifier, type Verification, type Verifier, type VerifierOptions } from "@svc/jwt-auth";
import { everyKey } from "./fixed-keys.ts";
import { forge, type Forgery, now } from "./forge.ts";

/** Creates a verifier; by default for HS256 tokens, with the fixture keys and the clock of the tests. */
export function verifierWith(options: Partial<VerifierOptions> = {}): Verifier {
  return createVerifier({ keys: everyKey(), algorithms: ["HS256"], now, ...options });
}

/** Verifies an HS256 token with these claims merged into the valid ones, with a new verifier. */
export function judge(
  claims: Readonly<Record<string, unknown>>,
  options: Partial<VerifierOptions> = {},
): Verification | Promise<Verification> {
  return verifierWith(options).verify(hs256({ claims }));
}

/** Makes an HS256 token. */
export function hs256(forgery: Forgery = {}): string {
  return forge({ algorithm: "HS256", ...forgery });
}

/** Returns the error that a call throws. */
export function thrownBy(call: () => unknown): Error {
  try {
    call();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error("nothing was thrown");
}

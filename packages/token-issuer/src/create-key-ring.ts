import type { CheckResult } from "@svc/context";
import { type Algorithm, algorithms, isSymmetric } from "@svc/jwt-auth";
import { type Names, optionError } from "@svc/options";
import { readKeyFileNow, ringFile } from "./key-file.ts";
import { pemMaterial, secretMaterial } from "./key-material.ts";
import { KeyRingError } from "./key-ring-error.ts";
import { type KeyRingOptions, type ResolvedKeyRing, resolveKeyRing } from "./key-ring-options.ts";
import type { KeyRing } from "./key-ring.ts";
import { watchKeys } from "./key-watch.ts";
import { type LiveRing, liveRing, notesOf } from "./live-ring.ts";
import { currentOf, isLive, type RingDocument } from "./ring-document.ts";
import { newRing } from "./ring-rules.ts";
import { readRing } from "./ring-text.ts";
import { say } from "./say.ts";

/**
 * Creates the signing keys of an issuer (ISS-14) from a string, a watched file, one private key or one secret. Throws for
 * unusable keys at startup. If a later change has unusable keys, the ring stays unchanged, and readiness and the log report
 * the fault.
 *
 * @throws ConfigurationError for invalid options
 * @throws KeyRingError when the keys cannot be read or must not be used
 */
export function createKeyRing(options: KeyRingOptions): KeyRing {
  const settings = resolveKeyRing(options);
  const { file, logger, now, refreshTokensStayHere } = settings;
  let live = liveRing(firstDocument(settings), undefined, refreshTokensStayHere);
  let generation = 0;
  let fault: string | undefined;
  const secrets = isSymmetric(live.signer.algorithm);
  const family = Object.freeze(algorithms.filter((each) => isSymmetric(each) === secrets));
  const stopWatching =
    file === undefined
      ? undefined
      : watchKeys({ path: file, pollSeconds: settings.pollSeconds, changed: takeUp, failed });

  function takeUp(text: string): void {
    load(text);
    if (fault !== undefined) say(logger, "info", {}, "the file of the signing keys can be used again");
    fault = undefined;
  }

  function failed(error: unknown): void {
    const message = error instanceof Error ? error.message : "unknown error";
    if (message === fault) return;
    fault = message;
    say(
      logger,
      "warn",
      { reason: message },
      "the signing keys are unchanged, because their file cannot be used",
    );
  }

  function load(text: string): void {
    const document = readRing(text, settings.env);
    if (isSymmetric(currentOf(document).algorithm) !== secrets) {
      const has = secrets ? "secrets" : "key pairs";
      throw new KeyRingError(
        "broken",
        `the key ring had ${has}; restart the service to change from secrets to key pairs or back`,
      );
    }
    const following = liveRing(document, live, refreshTokensStayHere);
    const changed = summaryOf(following.document) !== summaryOf(live.document);
    live = following;
    if (!changed) return;
    generation += 1;
    say(logger, "info", { keys: notesOf(document).length, kid: live.signer.kid }, "the signing keys changed");
  }

  return {
    get generation() {
      return generation;
    },
    algorithms: family,
    get lifetimes() {
      return live.document.lifetimes;
    },
    find: (kid: string | undefined, algorithm: Algorithm) => live.find(kid, algorithm),
    signer: () => live.signer,
    jwks: () => live.jwks(now()),
    list: () => notesOf(live.document),
    load,
    readiness: () => ({ name: "signing-keys", critical: false, check: () => report(live, settings, fault) }),
    stop: () => stopWatching?.(),
    [Symbol.asyncDispose]: () => {
      stopWatching?.();
      return Promise.resolve();
    },
  };
}

function firstDocument({
  text,
  file,
  privateKey,
  secret,
  algorithm,
  env,
  now,
  names,
}: ResolvedKeyRing): RingDocument {
  if (text !== undefined) return readRing(text, env);
  if (file !== undefined) return readRing(readKeyFileNow(ringFile(file)), env);
  // A key that never changes can verify tokens of any lifetime.
  const lifetimes = { accessSeconds: Infinity, refreshSeconds: Infinity, leewaySeconds: Infinity };
  if (privateKey !== undefined)
    return newRing(
      option(names, "privateKey", () => pemMaterial(privateKey, algorithm)),
      now(),
      lifetimes,
    );
  const usual = algorithm ?? "HS256";
  if (!isSymmetric(usual))
    throw optionError(names, "algorithm", `must be HS256, HS384 or HS512 with a secret`);
  return newRing(
    option(names, "secret", () => secretMaterial(secret ?? "", usual, env)),
    now(),
    lifetimes,
  );
}

function option<T>(names: Names, name: "privateKey" | "secret", read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof KeyRingError)
      throw optionError(names, name, `cannot be used: ${error.message}`, { cause: error });
    throw error;
  }
}

/** Returns a summary that differs whenever the keys differ. */
function summaryOf({ keys }: RingDocument): string {
  return keys
    .filter(isLive)
    .map(({ kid, algorithm, state }) => `${kid} ${algorithm} ${state}`)
    .sort()
    .join();
}

function report(
  { document, signer }: LiveRing,
  { rotateAfterDays, now, text, file }: ResolvedKeyRing,
  fault: string | undefined,
): CheckResult {
  const key = `the current key signs with ${signer.algorithm}`;
  if (fault !== undefined)
    return {
      healthy: false,
      detail: `${key}; the changed key file cannot be used, so the previous keys stay in use`,
    };
  if (text === undefined && file === undefined)
    return { healthy: true, detail: `${key} and is never replaced` };
  const days = Math.max(0, Math.floor((now() - (currentOf(document).promotedAt ?? 0)) / 86_400_000));
  const age = `the current key has signed with ${signer.algorithm} for ${days} day${days === 1 ? "" : "s"}`;
  const detail = days < rotateAfterDays ? age : `${age}; it is time to add the next key`;
  return { healthy: true, detail, meta: { keyAgeDays: days, keys: document.keys.filter(isLive).length } };
}

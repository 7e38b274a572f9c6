import { createPublicKey, type KeyObject, X509Certificate } from "node:crypto";
import { defineOptions, kinds as k, namesOf, optionError, type OptionsOf } from "@svc/options";
import { algorithms as allAlgorithms, algorithmTexts, checkAlgorithms } from "./algorithms.ts";
import { fitFault, keyFault } from "./key-check.ts";
import type { KeySource } from "./key-source.ts";

export const pemSourceOptions = defineOptions("createPemSource()", {
  // Secret, because the value may be a private key by mistake.
  /**
   * One PEM: a public key (SPKI or PKCS#1) or a certificate, whose dates are not checked. Line ends may be written as
   * `\n` in two characters, as in `.env` files. Required.
   */
  publicKey: { kind: k.secret(k.string()) },
  /** Allowed algorithms; the key must fit each of them (AUTH-26). Default: `["RS256"]`. */
  algorithms: { kind: k.withDefault(algorithmTexts, ["RS256"]) },
});

/** Options of `createPemSource()`. */
export type PemSourceOptions = OptionsOf<typeof pemSourceOptions>;

/**
 * Creates a source with one pinned public key, for any kid. Rejects a private key, because a service that only verifies
 * must not hold it.
 *
 * @throws ConfigurationError when the key cannot be read, is private, or does not fit an algorithm
 */
export function createPemSource(options: PemSourceOptions): KeySource {
  const given = pemSourceOptions.resolve(options);
  const names = namesOf(options, pemSourceOptions.subject);
  const algorithms = checkAlgorithms(names.subject, given.algorithms, names.of("algorithms"));
  const key = readPem(given.publicKey);
  if (typeof key === "string") throw optionError(names, "publicKey", key);
  const fitting = allAlgorithms.filter((each) => keyFault(key, each) === undefined);
  const message = fitFault(key, fitting, algorithms);
  if (message !== undefined) throw optionError(names, "publicKey", message);
  return {
    generation: 0,
    algorithms,
    find: (_kid, algorithm) => (algorithms.includes(algorithm) ? key : undefined),
  };
}

const block = /^-----BEGIN ([A-Z0-9 ]+)-----[A-Za-z0-9+/=\s]+-----END \1-----$/;

/** Reads one PEM. Returns a string that says what is wrong with the text, without showing it. */
export function readPem(given: string): KeyObject | string {
  const pem = given.replaceAll(/\\r/g, "").replaceAll(/\\n/g, "\n").trim();
  if (/PRIVATE KEY/.test(pem))
    return "is a private key; set the public key, and keep the private key with the issuer";
  const label = block.exec(pem)?.[1];
  if (label === undefined) return "must be one PEM, from -----BEGIN to -----END, and nothing else";
  try {
    if (label === "CERTIFICATE") return new X509Certificate(pem).publicKey;
    if (label === "PUBLIC KEY" || label === "RSA PUBLIC KEY") return createPublicKey(pem);
  } catch {
    return `cannot be read: the content of the PEM is not a ${label}`;
  }
  return `is a PEM of ${label}; it must be PUBLIC KEY, RSA PUBLIC KEY or CERTIFICATE`;
}

import type { KeyObject } from "node:crypto";
import type { JsonObject } from "../answer.ts";
import { type Check, check, given, type Need } from "../check.ts";
import type { Verdict } from "../conformance-report.ts";
import { keyPatience, type Kit, until } from "../kit.ts";
import type { KeyServer } from "../key-server.ts";
import { every, must, notApplicable, ruledOut } from "../verdict.ts";
import { accepts, refuses } from "./callers.ts";

const needs: readonly Need[] = ["full", "key set", "auth", "keys", "probe:protected"];

/** Sends unknown key ids until the service fetches the key set. Returns whether it did. */
async function untilFetched(kit: Kit, keySet: KeyServer): Promise<boolean> {
  const before = keySet.fetches;
  const send = (): Promise<unknown> => refuses(kit, "an unknown kid", { header: { kid: kit.unique() } });
  await until(send, () => keySet.fetches > before, keyPatience(kit.settings));
  return keySet.fetches > before;
}

/** Waits until the service accepts a token, at most as long as the key set checks wait. */
async function untilAccepted(kit: Kit, header: JsonObject, key: KeyObject): Promise<boolean> {
  const { algorithm } = kit.tokens;
  const send = (): Promise<Verdict> => accepts(kit, "", { header, signWith: { algorithm, key } });
  return (await until(send, ({ status }) => status === "pass", keyPatience(kit.settings))).status === "pass";
}

export const keySetChecks: readonly Check[] = [
  check("KEY-11", { needs }, (kit) =>
    refuses(kit, "no kid while the set has several keys", { header: { kid: undefined } }),
  ),
  check("KEY-2", { needs, alone: true, patient: true }, async (kit) => {
    const keySet = given(kit.keySet);
    const { kid, key } = await keySet.rotate();
    return must(
      await untilAccepted(kit, { kid }, key),
      "a new key was not fetched",
      "a fetch when a token first names the key",
    );
  }),
  check("KEY-1", { needs, alone: true }, async function* (kit) {
    const keySet = given(kit.keySet);
    const before = keySet.fetches;
    const flood = Array.from({ length: 25 }, () =>
      refuses(kit, "an unknown kid", { header: { kid: kit.unique() } }),
    );
    const refused = every(await Promise.all(flood));
    const caused = keySet.fetches - before;
    yield refused;
    yield must(caused <= 1, `${caused} fetches for 25 unknown kids`, "at most one fetch a minute");
  }),
  // KEY-12 must run after KEY-2: a service treats the kid of an unusable key as unknown, and fetches the key set for
  // unknown kids only once a minute.
  check("KEY-12", { needs, alone: true }, async (kit) => {
    const { tokens } = kit;
    const keySet = given(kit.keySet);
    const { kid, key } = keySet.forEncryption;
    const { algorithm } = tokens;
    return refuses(kit, "a key for encryption", { header: { kid }, signWith: { algorithm, key } });
  }),
  check("AUTH-25", { needs, alone: true }, async (kit) => {
    const weak = kit.keySet?.weak;
    if (weak === undefined) return ruledOut("the algorithm does not use RSA keys");
    const { algorithm } = kit.tokens;
    const shape = { header: { kid: weak.kid }, signWith: { algorithm, key: weak.key } };
    return refuses(kit, "an RSA key of 1,024 bits", shape);
  }),
  check("KEY-4", { needs, alone: true, patient: true }, async (kit) => {
    const keySet = given(kit.keySet);
    keySet.setDown(true);
    try {
      const fetched = await untilFetched(kit, keySet);
      const verdict = await accepts(
        kit,
        "a token signed with a known key while the key-set endpoint is down",
        {},
      );
      if (verdict.status === "fail" || fetched) return verdict;
      return notApplicable("the service did not fetch the key set while its endpoint was down");
    } finally {
      keySet.setDown(false);
    }
  }),
];

import { deflateRawSync } from "node:zlib";
import type { RefusalReason } from "@svc/jwt-auth";
import { fixedKeys } from "../support/fixed-keys.ts";
import { base64url, forge, goodClaims, partsOf } from "../support/forge.ts";
import { keyFixture } from "../support/key-fixtures.ts";
import { hostile, type HostileClass, type HostileToken } from "./hostile-token.ts";

const good = forge();

/** A source that has one key under the kid `main`, and a verifier that takes nothing else. */
const oneKid = {
  keys: fixedKeys([{ kid: "main", algorithm: "RS256", key: keyFixture("rsa2048").publicKey }]),
  algorithms: ["RS256"],
} as const;

const unknownKids: HostileClass = {
  name: "kid: names of no key",
  tokens: [
    unknownKid("a path", "../../../../dev/null"),
    unknownKid("an absolute path", "/etc/passwd"),
    unknownKid("SQL", "main' UNION SELECT 'AAAA' -- "),
    unknownKid("a command", "main|/usr/bin/id"),
    unknownKid("__proto__", "__proto__"),
    unknownKid("constructor", "constructor"),
    unknownKid("hasOwnProperty", "hasOwnProperty"),
    unknownKid("a NUL in it", "main\u0000"),
    unknownKid("a line end in it", "main\r\nX-Admin: 1"),
    unknownKid("another case", "MAIN"),
    unknownKid("a letter that looks like another", "mаin"),
    unknownKid("an address", "http://127.0.0.1:19009/keys.json"),
    unknownKid("nothing", ""),
    unknownKid("256 characters", "k".repeat(256)),
  ],
};

function unknownKid(defect: string, kid: string): HostileToken {
  return hostile("KEY-2", defect, ["unknown_key"], { header: { kid } }, { header: { kid: "main" } }, oneKid);
}

const kidShapes: HostileClass = {
  name: "kid: shapes",
  tokens: [
    hostile(
      "AUTH-22",
      "257 characters",
      ["kid"],
      { header: { kid: "k".repeat(257) } },
      { header: { kid: "k".repeat(256) } },
    ),
    hostile("AUTH-28", "a list", ["kid"], { header: { kid: ["main"] } }, { header: { kid: "main" } }, oneKid),
    hostile("AUTH-28", "a number", ["kid"], { header: { kid: 1 } }, { header: { kid: "1" } }),
    hostile(
      "AUTH-28",
      "an object",
      ["kid"],
      { header: { kid: { toString: "main" } } },
      { header: { kid: "main" } },
      oneKid,
    ),
    hostile("AUTH-28", "null", ["kid"], { header: { kid: null } }, { header: {} }),
    hostile("AUTH-28", "false", ["kid"], { header: { kid: false } }, { header: { kid: "false" } }),
    hostile(
      "KEY-11",
      "none where there are two keys",
      ["unknown_key"],
      {},
      { header: { kid: "main" } },
      {
        keys: fixedKeys([
          { kid: "main", algorithm: "RS256", key: keyFixture("rsa2048").publicKey },
          { kid: "next", algorithm: "RS256", key: keyFixture("otherRsa2048").publicKey },
        ]),
        algorithms: ["RS256"],
      },
    ),
    hostile(
      "KEY-2",
      "of the other key",
      ["signature"],
      { header: { kid: "next" } },
      { header: { kid: "main" } },
      {
        keys: fixedKeys([
          { kid: "main", algorithm: "RS256", key: keyFixture("rsa2048").publicKey },
          { kid: "next", algorithm: "RS256", key: keyFixture("otherRsa2048").publicKey },
        ]),
        algorithms: ["RS256"],
      },
    ),
  ],
};

const criticalHeaders: HostileClass = {
  name: "crit and b64",
  tokens: [
    crit("an extension that is there", { crit: ["exp"], exp: 1 }),
    crit("an extension that is not there", { crit: ["x-unknown"] }),
    crit("b64 true", { crit: ["b64"], b64: true }),
    crit("b64 false", { crit: ["b64"], b64: false }),
    crit("an empty list", { crit: [] }),
    crit("no list", { crit: "exp" }),
    crit("null", { crit: null }),
    crit("itself", { crit: ["crit"] }),
    crit("alg", { crit: ["alg"] }),
    crit("numbers", { crit: [1] }),
    hostile(
      "AUTH-24",
      "b64 false without crit",
      ["critical_header", "b64"],
      { header: { b64: false } },
      { header: {} },
    ),
  ],
};

function crit(defect: string, header: Readonly<Record<string, unknown>>): HostileToken {
  const { crit: _, ...rest } = header;
  const repaired = Object.fromEntries(Object.entries(rest).filter(([name]) => name !== "b64"));
  return hostile("AUTH-24", defect, ["critical_header"], { header }, { header: repaired });
}

const headerShapes: HostileClass = {
  name: "what a header is",
  tokens: [
    raw("header", "a list", '[{"alg":"RS256"}]'),
    raw("header", "a string", '"RS256"'),
    raw("header", "null", "null"),
    raw("header", "a number", "1"),
    raw("header", "no JSON", "alg=RS256"),
    raw("header", "JSON that is cut off", '{"alg":"RS256"'),
    raw("header", "two objects", '{"alg":"RS256"}{}'),
    raw("header", "a comment in it", '{"alg":"RS256"/**/}'),
    raw("header", "single quotes", "{'alg':'RS256'}"),
  ],
};

function raw(reason: RefusalReason, defect: string, rawHeader: string): HostileToken {
  return hostile("AUTH-21", defect, [reason], { rawHeader }, { rawHeader: '{"alg":"RS256"}' });
}

const otherForms: HostileClass = {
  name: "tokens of other kinds",
  tokens: [
    form(
      "five parts, as encrypted tokens have",
      "malformed",
      `${good}.${partsOf(good)[1]}.${partsOf(good)[2]}`,
    ),
    form(
      "an encrypted token",
      "malformed",
      [base64url('{"alg":"dir","enc":"A128GCM"}'), "", "aaaa", "aaaa", "aaaa"].join("."),
    ),
    form("the JSON form", "malformed", jsonForm()),
    form("a detached payload", "malformed", `${partsOf(good)[0]}..${partsOf(good)[2]}`),
    form("a token within a token", "payload", forge({ rawPayload: good, header: { cty: "JWT" } })),
    form("a token as a JSON string", "payload", forge({ rawPayload: JSON.stringify(good) })),
    form(
      "a compressed payload",
      "encoding",
      forge({ rawPayload: deflateRawSync(JSON.stringify(goodClaims)), header: { zip: "DEF" } }),
    ),
    form(
      "the header of an encrypted token",
      "algorithm_not_allowed",
      forge({ header: { alg: "RSA-OAEP", enc: "A128GCM" } }),
      "alg",
    ),
  ],
};

function form(defect: string, reason: RefusalReason, token: string, at?: string): HostileToken {
  return { rule: "AUTH-3", defect, reason, at, token, repaired: good };
}

function jsonForm(): string {
  const [header, payload, signature] = partsOf(good);
  return JSON.stringify({ protected: header, payload, signature });
}

export const headerClasses: readonly HostileClass[] = [
  unknownKids,
  kidShapes,
  criticalHeaders,
  headerShapes,
  otherForms,
];

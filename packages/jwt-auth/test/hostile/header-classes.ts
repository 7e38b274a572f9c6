import { deflateRawSync } from "node:zlib";
import type { RefusalReason } from "@svc/jwt-auth";
import { fixedKeys } from "../support/fixed-keys.ts";
import { base64url, forge, goodClaims, partsOf } from "../support/forge.ts";
import { keyFixture } from "../support/key-fixtures.ts";
import { hostile, type HostileClass, type HostileToken } from "./hostile-token.ts";

const good = forge();

/** Settings with one RS256 key under the kid `main`. */
const oneKid = {
  keys: fixedKeys([{ kid: "main", algorithm: "RS256", key: keyFixture("rsa2048").publicKey }]),
  algorithms: ["RS256"],
} as const;

const unknownKids: HostileClass = {
  name: "an unknown kid",
  tokens: [
    unknownKid("a path", "../../../../dev/null"),
    unknownKid("an absolute path", "/etc/passwd"),
    unknownKid("an SQL injection", "main' UNION SELECT 'AAAA' -- "),
    unknownKid("a shell command", "main|/usr/bin/id"),
    unknownKid("__proto__", "__proto__"),
    unknownKid("constructor", "constructor"),
    unknownKid("hasOwnProperty", "hasOwnProperty"),
    unknownKid("a kid with a NUL", "main\u0000"),
    unknownKid("a kid with a line end", "main\r\nX-Admin: 1"),
    unknownKid("the kid in another case", "MAIN"),
    unknownKid("a letter of another alphabet", "mаin"),
    unknownKid("a URL", "http://127.0.0.1:19009/keys.json"),
    unknownKid("an empty string", ""),
    unknownKid("256 characters", "k".repeat(256)),
  ],
};

function unknownKid(defect: string, kid: string): HostileToken {
  return hostile("KEY-2", defect, ["unknown_key"], { header: { kid } }, { header: { kid: "main" } }, oneKid);
}

const kidShapes: HostileClass = {
  name: "a kid of the wrong type or length, or of the wrong key",
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
      "a token without kid when the source has two keys",
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
      "the kid of the other key",
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
    crit("crit with an extension that the header contains", { crit: ["exp"], exp: 1 }),
    crit("crit with an extension that the header does not contain", { crit: ["x-unknown"] }),
    crit("crit with b64, and b64 true", { crit: ["b64"], b64: true }),
    crit("crit with b64, and b64 false", { crit: ["b64"], b64: false }),
    crit("crit that is an empty list", { crit: [] }),
    crit("crit that is a string", { crit: "exp" }),
    crit("crit that is null", { crit: null }),
    crit("crit that names itself", { crit: ["crit"] }),
    crit("crit that names alg", { crit: ["alg"] }),
    crit("crit that is a list of numbers", { crit: [1] }),
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
  name: "a header that is not a JSON object",
  tokens: [
    raw("header", "a list", '[{"alg":"RS256"}]'),
    raw("header", "a string", '"RS256"'),
    raw("header", "null", "null"),
    raw("header", "a number", "1"),
    raw("header", "text that is not JSON", "alg=RS256"),
    raw("header", "truncated JSON", '{"alg":"RS256"'),
    raw("header", "two objects", '{"alg":"RS256"}{}'),
    raw("header", "JSON with a comment", '{"alg":"RS256"/**/}'),
    raw("header", "single quotes", "{'alg':'RS256'}"),
  ],
};

function raw(reason: RefusalReason, defect: string, rawHeader: string): HostileToken {
  return hostile("AUTH-21", defect, [reason], { rawHeader }, { rawHeader: '{"alg":"RS256"}' });
}

const otherForms: HostileClass = {
  name: "other kinds of tokens",
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
    form("a token in the JSON serialization", "malformed", jsonForm()),
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

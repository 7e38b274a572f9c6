import type { RefusalReason } from "@svc/jwt-auth";
import { goodClaims, nowSeconds } from "../support/forge.ts";
import { hostile, type HostileClass, type HostileToken } from "./hostile-token.ts";

const json: HostileClass = {
  name: "the text of the payload",
  tokens: [
    payload("a byte order mark", "payload", "\uFEFF" + JSON.stringify(goodClaims)),
    payload("UTF-16", "payload", Buffer.from(JSON.stringify(goodClaims), "utf16le")),
    utf8("a byte that is invalid in UTF-8", [0xff]),
    utf8("a truncated UTF-8 sequence", [0xe2, 0x82]),
    utf8("an overlong UTF-8 sequence", [0xc1, 0x81]),
    utf8("an encoded surrogate", [0xed, 0xa0, 0x80]),
    utf8("a code point above U+10FFFF", [0xf4, 0x90, 0x80, 0x80]),
    payload("a list", "payload", JSON.stringify([goodClaims])),
    payload("a string", "payload", JSON.stringify(JSON.stringify(goodClaims))),
    payload("null", "payload", "null"),
    payload("a number", "payload", String(nowSeconds)),
    payload("true", "payload", "true"),
    payload("a string that is not JSON", "payload", "sub=ada"),
    payload("truncated JSON", "payload", JSON.stringify(goodClaims).slice(0, -1)),
    payload("two objects", "payload", JSON.stringify(goodClaims) + "{}"),
    payload("a comma at the end", "payload", JSON.stringify(goodClaims).replace(/\}$/, ",}")),
    payload("a comment", "payload", `${JSON.stringify(goodClaims)}//`),
    payload("NaN", "payload", JSON.stringify(goodClaims).replace(/\}$/, ',"n":NaN}')),
    payload("Infinity", "payload", JSON.stringify(goodClaims).replace(/\}$/, ',"n":Infinity}')),
    payload(
      "a hexadecimal date",
      "payload",
      JSON.stringify(goodClaims).replace(/"exp":\d+/, '"exp":0x7fffffff'),
    ),
    payload("a NUL after the JSON", "payload", `${JSON.stringify(goodClaims)}\u0000`),
    payload("a line end in a string", "payload", JSON.stringify(goodClaims).replace("ada", "a\nda")),
    hostile(
      "AUTH-21",
      "a byte order mark in the header",
      ["header"],
      { rawHeader: '\uFEFF{"alg":"RS256"}' },
      { rawHeader: '{"alg":"RS256"}' },
    ),
    hostile(
      "AUTH-21",
      "a header that is not UTF-8",
      ["encoding", "header"],
      { rawHeader: broken('{"alg":"RS256","x":"', [0xff], '"}') },
      { rawHeader: '{"alg":"RS256","x":"A"}' },
    ),
  ],
};

function payload(defect: string, reason: RefusalReason, rawPayload: string | Uint8Array): HostileToken {
  return hostile("AUTH-21", defect, [reason], { rawPayload });
}

function utf8(defect: string, bytes: readonly number[]): HostileToken {
  const [before, after] = ['{"note":"', `",${JSON.stringify(goodClaims).slice(1)}`];
  const rawPayload = broken(before, bytes, after);
  return hostile(
    "AUTH-21",
    defect,
    ["encoding", "payload"],
    { rawPayload },
    { rawPayload: `${before}A${after}` },
  );
}

function broken(before: string, bytes: readonly number[], after: string): Uint8Array {
  return Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]);
}

/** The last of duplicate members counts, so the defect is in the last one. */
const members: HostileClass = {
  name: "duplicate members, and members of __proto__",
  tokens: [
    twice(
      "duplicate exp, the last one in the past",
      "AUTH-30",
      "expired",
      "exp",
      `"exp":${nowSeconds - 3600}`,
    ),
    twice("duplicate sub, the last one empty", "AUTH-28", "claim_type", "sub", '"sub":""'),
    twice("duplicate sub, the last one null", "AUTH-28", "claim_type", "sub", '"sub":null'),
    twice(
      "duplicate iat, the last one in the future",
      "AUTH-29",
      "issued_in_future",
      "iat",
      `"iat":${nowSeconds + 3600}`,
    ),
    twice(
      "duplicate typ, the last one refresh",
      "AUTH-10",
      "token_use",
      "typ",
      '"typ":"refresh"',
      '"typ":"access"',
    ),
    hostile(
      "AUTH-3",
      "duplicate alg, the last one none",
      ["algorithm_not_allowed", "alg"],
      { rawHeader: '{"alg":"RS256","alg":"none"}' },
      { rawHeader: '{"alg":"RS256","alg":"RS256"}' },
    ),
    hostile(
      "AUTH-24",
      "crit after valid members",
      ["critical_header"],
      { rawHeader: '{"alg":"RS256","alg":"RS256","crit":["exp"]}' },
      { rawHeader: '{"alg":"RS256","alg":"RS256"}' },
    ),
    proto("sub", "AUTH-9", ["claim_missing", "sub"]),
    proto("exp", "AUTH-9", ["claim_missing", "exp"]),
    proto("iat", "AUTH-9", ["claim_missing", "iat"]),
    hostile(
      "AUTH-3",
      "alg in __proto__",
      ["header", "alg"],
      { rawHeader: '{"__proto__":{"alg":"RS256"}}' },
      { rawHeader: '{"__proto__":{"alg":"RS256"},"alg":"RS256"}' },
    ),
  ],
};

function twice(
  defect: string,
  rule: string,
  reason: RefusalReason,
  at: string,
  last: string,
  first = "",
): HostileToken {
  const text = JSON.stringify(goodClaims).slice(0, -1) + (first === "" ? "" : `,${first}`);
  const member = first === "" ? new RegExp(`"${at}":("[^"]*"|\\d+)`).exec(text)?.[0] : first;
  return hostile(
    rule,
    defect,
    [reason, at],
    { rawPayload: `${text},${last}}` },
    { rawPayload: `${text},${member ?? ""}}` },
  );
}

/** Makes a token with a claim only in `__proto__`, which must count as missing. */
function proto(claim: string, rule: string, reason: readonly [RefusalReason, string]): HostileToken {
  const { [claim]: value, ...rest } = goodClaims;
  const inner = `"__proto__":${JSON.stringify({ [claim]: value })}`;
  const text = JSON.stringify(rest).slice(0, -1);
  return hostile(
    rule,
    `${claim} in __proto__`,
    reason,
    { rawPayload: `${text},${inner}}` },
    { rawPayload: `${text},${inner},"${claim}":${JSON.stringify(value)}}` },
  );
}

export const jsonClasses: readonly HostileClass[] = [json, members];

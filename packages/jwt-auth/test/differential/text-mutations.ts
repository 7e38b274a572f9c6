import { nowSeconds } from "../support/forge.ts";
import type { Random } from "../support/random.ts";
import type { Draft } from "./draft.ts";
import { type Mutations, withPayload } from "./mutation.ts";

/** Mutations of the text of header and payload. */
export const textMutations: Mutations = {
  "a byte order mark before the payload": (draft) =>
    withPayload(draft, `\uFEFF${JSON.stringify(draft.claims)}`),
  "a byte order mark before the header": (draft) => header(draft, (text) => `\uFEFF${text}`),
  "a payload that is not UTF-8": (draft, random) =>
    withPayload(draft, spliced(JSON.stringify({ note: "", ...draft.claims }), random)),
  "a header that is not UTF-8": (draft, random) => {
    draft.forgery.rawHeader = spliced(
      headerText({ ...draft, header: { note: "", ...draft.header } }),
      random,
    );
    return true;
  },
  "a payload that is not an object": (draft, random) =>
    withPayload(draft, random.pick(["[]", "null", "7", '"a"', "true", "", JSON.stringify([draft.claims])])),
  "a header that is not an object": (draft, random) =>
    header(draft, (text) => random.pick(["[]", "null", "7", '"a"', `[${text}]`, ""])),
  "a payload that is broken JSON": (draft, random) =>
    withPayload(draft, brokenJson(JSON.stringify(draft.claims), random)),
  "a header that is broken JSON": (draft, random) => header(draft, (text) => brokenJson(text, random)),
  "a claim twice": (draft, random) => {
    const name = random.pick(["sub", "exp", "iat", "iss", "aud", "typ"]);
    const first = JSON.stringify(random.pick([7, true, null, "", "a", [], ["a"], {}, nowSeconds, "refresh"]));
    draft.forgery.rawPayload = `{"${name}":${first},${JSON.stringify(draft.claims).slice(1)}`;
    return false;
  },
  "claims in __proto__": (draft, random) => {
    const name = random.pick(["sub", "exp", "iat"]);
    const { [name]: value, ...rest } = draft.claims;
    return withPayload(
      draft,
      `{"__proto__":${JSON.stringify({ [name]: value })},${JSON.stringify(rest).slice(1)}`,
    );
  },
  "a large payload": (draft, random) => {
    draft.claims["pad"] = "p".repeat(5000 + random.whole(2000));
    return false;
  },
  "deeply nested lists": (draft, random) => {
    const depth = 1 + random.whole(500);
    draft.forgery.rawPayload = `{"deep":${"[".repeat(depth)}${"]".repeat(depth)},${JSON.stringify(draft.claims).slice(1)}`;
    return false;
  },
};

function header(draft: Draft, change: (text: string) => string): boolean {
  draft.forgery.rawHeader = change(headerText(draft));
  return true;
}

function headerText(draft: Draft): string {
  return JSON.stringify({ alg: draft.algorithm, ...draft.header });
}

/** Inserts bytes that are invalid in UTF-8 into a string of the text. */
function spliced(text: string, random: Random): Uint8Array {
  const bad = random.pick([
    [0xff],
    [0xc1, 0x81],
    [0xe2, 0x82],
    [0xed, 0xa0, 0x80],
    [0xf4, 0x90, 0x80, 0x80],
    [0x80],
  ]);
  const at = text.indexOf('"note":"') + '"note":"'.length;
  return Buffer.concat([Buffer.from(text.slice(0, at)), Buffer.from(bad), Buffer.from(text.slice(at))]);
}

function brokenJson(text: string, random: Random): string {
  return random.pick([
    () => text.slice(0, -1),
    () => text.slice(1),
    () => `${text}{}`,
    () => `${text}\u0000`,
    () => text.replaceAll('"', "'"),
    () => text.replace(/\}$/, ",}"),
    () => `${text}//`,
    () => text.replace(/\}$/, ',"n":NaN}'),
    () => text.replace("{", "{,"),
    () => text.replaceAll(":", "="),
  ])();
}

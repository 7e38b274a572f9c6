import { expect } from "chai";
import { parseToken } from "../src/token-parser.ts";
import { base64url, goodClaims, nonCanonical, partsOf } from "./support/forge.ts";
import { hs256, verifierWith } from "./support/verifying.ts";

const allowed = new Set(["HS256"]);

function token(header: string | Uint8Array, payload: string | Uint8Array = "{}"): string {
  return `${base64url(header)}.${base64url(payload)}.AAAA`;
}

function reasonOf(text: unknown): unknown {
  const { reason, at } = parseToken(text as string, allowed) as { reason?: string; at?: string };
  return at === undefined ? reason : `${reason} ${at}`;
}

const header = '{"alg":"HS256"}';

describe("parseToken", () => {
  it("returns header, claims, signed text and signature", () => {
    const text = token('{"alg":"HS256","kid":"k","typ":"JWT"}', '{"sub":"ada"}');
    const parsed = parseToken(text, allowed);
    expect(parsed).to.deep.include({ header: { algorithm: "HS256", kid: "k" }, claims: { sub: "ada" } });
    expect(parsed).to.deep.include({ signed: text.slice(0, -5), signature: Buffer.from([0, 0, 0]) });
  });

  it("accepts 8,192 characters and refuses 8,193 (AUTH-20)", () => {
    const short = token(header);
    const rest = 8192 - short.length;
    expect(reasonOf(short + "A".repeat(rest))).to.equal(undefined);
    expect(reasonOf(short + "A".repeat(rest + 1))).to.equal("too_large");
    expect(reasonOf(".".repeat(1_000_000))).to.equal("too_large");
  });

  it("refuses a string that does not have exactly three parts", () => {
    for (const text of ["", ".", "..", "...", "a", "a.b", "a.b.c.d", "a..c", ".b.c", "a.b.", "a.b.c.d.e"]) {
      expect(reasonOf(text), text).to.equal("malformed");
    }
    for (const text of [undefined, null, 7, {}, ["a.b.c"]]) expect(reasonOf(text)).to.equal("malformed");
  });

  it("refuses padding, the base64 alphabet, white space and other invalid characters (AUTH-21)", () => {
    const [first, second] = partsOf(token(header));
    for (const bad of ["=", "+", "/", " ", "\n", "\t", "\0", "é", "\u212a", "\ud800", "%3D"]) {
      expect(reasonOf(`${first}${bad}.${second}.AAAA`), bad).to.equal("encoding");
      expect(reasonOf(`${first}.${bad}${second}.AAAA`), bad).to.equal("encoding");
      expect(reasonOf(`${first}.${second}.AAAA${bad}`), bad).to.equal("encoding");
    }
  });

  it("accepts a part only if the unused bits of its last character are zero, for every length (AUTH-21)", () => {
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const [first, second] = partsOf(token(header));
    const taken = [1, 2, 3, 4].map(
      (length) =>
        Array.from(alphabet).filter((last) => {
          const part = "A".repeat(length - 1) + last;
          const good = reasonOf(`${first}.${second}.${part}`) === undefined;
          const canonical = Buffer.from(part, "base64url").toString("base64url") === part;
          expect(good, part).to.equal(canonical);
          return good;
        }).length,
    );
    expect(taken).to.deep.equal([0, 4, 16, 64]);
  });

  it("refuses a header or payload whose unused bits are not zero (AUTH-21)", () => {
    for (const spaces of [1, 2]) {
      const text = `{"alg":"HS256"}${" ".repeat(spaces)}`;
      const [first, second] = partsOf(token(text, text));
      expect(reasonOf(`${first}.${second}.AAAA`)).to.equal(undefined);
      expect(reasonOf(`${nonCanonical(first)}.${second}.AAAA`)).to.equal("encoding");
      expect(reasonOf(`${first}.${nonCanonical(second)}.AAAA`)).to.equal("encoding");
    }
  });

  it("refuses a byte order mark and bytes that are not UTF-8, in header and payload (AUTH-21)", () => {
    const bom = Buffer.from([0xef, 0xbb, 0xbf]);
    const hostile = [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82]];
    for (const bytes of hostile) {
      const payload = Buffer.concat([Buffer.from('{"sub":"'), Buffer.from(bytes), Buffer.from('"}')]);
      expect(reasonOf(token(header, payload))).to.equal("encoding payload");
      expect(reasonOf(token(payload))).to.equal("encoding header");
    }
    expect(reasonOf(token(Buffer.concat([bom, Buffer.from(header)])))).to.equal("header");
    expect(reasonOf(token(header, Buffer.concat([bom, Buffer.from("{}")])))).to.equal("payload");
    expect(reasonOf(token(header, Buffer.from('{"sub":"Zoë 🦊"}')))).to.equal(undefined);
  });

  it("accepts only JSON objects as header and payload", () => {
    for (const text of [
      "",
      "null",
      "[]",
      "1",
      '"x"',
      "true",
      "{",
      "{}{}",
      "{'a':1}",
      "NaN",
      "{}\0",
      '{"a":1,}',
    ]) {
      if (text !== "") expect(reasonOf(token(text)), text).to.equal("header");
      if (text !== "") expect(reasonOf(token(header, text)), text).to.equal("payload");
    }
  });

  it("accepts only an alg that exactly equals a listed algorithm (AUTH-3, AUTH-4)", () => {
    for (const alg of ["none", "None", "", "hs256", "HS256 ", "RS256", "HS384", "__proto__", "constructor"]) {
      expect(reasonOf(token(JSON.stringify({ alg }))), alg).to.equal("algorithm_not_allowed alg");
    }
    for (const bad of [
      "{}",
      '{"alg":null}',
      '{"alg":["HS256"]}',
      '{"alg":{"x":1}}',
      '{"__proto__":{"alg":"HS256"}}',
    ]) {
      expect(reasonOf(token(bad)), bad).to.equal("header alg");
    }
  });

  it("accepts only strings of up to 256 characters as kid (AUTH-22)", () => {
    expect(reasonOf(token(JSON.stringify({ alg: "HS256", kid: "k".repeat(256) })))).to.equal(undefined);
    for (const kid of ["k".repeat(257), 1, null, true, [], ["k"], {}]) {
      expect(reasonOf(token(JSON.stringify({ alg: "HS256", kid })))).to.equal("kid kid");
    }
  });

  it("refuses any crit, and b64 false without crit (AUTH-24)", () => {
    for (const crit of [[], ["b64"], ["exp"], null, "", 0, {}]) {
      expect(reasonOf(token(JSON.stringify({ alg: "HS256", crit })))).to.equal("critical_header crit");
    }
    expect(reasonOf(token('{"alg":"HS256","b64":false}'))).to.equal("critical_header b64");
    expect(reasonOf(token('{"alg":"HS256","b64":true}'))).to.equal(undefined);
  });

  it("uses the last of duplicate members", () => {
    expect(reasonOf(token('{"alg":"HS256","alg":"none"}'))).to.equal("algorithm_not_allowed alg");
    expect(reasonOf(token('{"alg":"none","alg":"HS256"}'))).to.equal(undefined);
    expect(reasonOf(token('{"alg":"HS256","\\u0061lg":"none"}'))).to.equal("algorithm_not_allowed alg");
    expect(parseToken(token(header, '{"sub":"a","sub":"b"}'), allowed)).to.deep.include({
      claims: { sub: "b" },
    });
  });

  it("parses 8 KiB of nested brackets", () => {
    const deep = (open: string, close: string): string => open.repeat(2_900) + close.repeat(2_900);
    expect(reasonOf(token(header, deep("[", "]")))).to.equal("payload");
    expect(reasonOf(token(header, `{"a":${deep("[", "]")}}`))).to.equal(undefined);
  });

  it("parses a header that differs from the last accepted header (AUTH-3)", () => {
    const verifier = verifierWith({ cacheTokens: 0 });
    expect(verifier.verify(hs256())).to.have.property("principal");
    expect(verifier.verify(hs256({ claims: { sub: "eve" } }))).to.have.nested.property(
      "principal.subject",
      "eve",
    );
    expect(verifier.verify(hs256({ header: { kid: 1 } }))).to.deep.equal({ reason: "kid", at: "kid" });
    expect(verifier.verify(hs256({ header: { alg: "none" } }))).to.have.property(
      "reason",
      "algorithm_not_allowed",
    );
    const [, payload, signature] = partsOf(hs256());
    const cut = base64url(JSON.stringify({ alg: "HS256", typ: "JWT" })).slice(0, -1);
    expect(verifier.verify(`${cut}.${payload}.${signature}`)).to.have.property("reason");
    expect(goodClaims).to.have.property("sub", "ada");
  });
});

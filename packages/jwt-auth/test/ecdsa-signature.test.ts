import { createPublicKey, generateKeyPairSync, sign, verify } from "node:crypto";
import { expect } from "chai";
import { ecdsaBytes } from "../src/algorithms.ts";
import { derSignature } from "../src/signature.ts";

// Found by signing "text" until a number began with a zero byte (two for ES512, whose first byte has only one bit).
const shortNumbers = [
  {
    algorithm: "ES256",
    key: "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE1f9sgqc44azZCotVEeaFGJq1KpOaB7Bx6GBWT3dPzDPmQfnh-mfHh7v5iuSkzhMwZL3Z7h5EZwxbJ05S0oMGOQ",
    shortR: "AHzSwhSpbNLmtb8NS2rVsncubP6ClF8p71fi5jBIE_-KDORukU5po8GK_ZHrwseS4zxIlr7B81qKbkd9LjDBPQ",
    shortS: "QiyYA-6Cs6Y4lgTTNJF_fSiNeoARjeNW_3Umdb80Lf8Aj1PQYB4qCU44fkUUgud-wzTOWtlQulOo68cmubGK0g",
  },
  {
    algorithm: "ES384",
    key: "MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEz7ET7VV8y1YoMRVe0M2JHPqllUc3F1rcXo21xaaxOJyQEahwLWccCcmcU4ioTfGe2u1MWO4mqSg0EGXU9ACXvZObps9wFYUo7pWFBLanf-PmZqc9fWF_6j4-_bGbGRPs",
    shortR:
      "AHQJGqkaFYw0F-9YhP_5_lqiISmLupim8CeLSUPjfXRnlxX0oWDywnmV2EuBPGL-itcOHdrQl3_53kaG9hcW5B86YXX7O_yk6X6sYCktKmQgM19LU9PCLvEi20ZrAoZZ",
    shortS:
      "2oHXzUwWs0mIqNvi1N2kCzrj-oan40hltlL7QhNuoI9Mq3ijcR8CgCAVGuMr6v2uAGQNrGSLFZnl4fq2ASsD6TYJdxwwhk1R028oBWJri2lymC8U46hg3H4n_BVhEF-X",
  },
  {
    algorithm: "ES512",
    key: "MIGbMBAGByqGSM49AgEGBSuBBAAjA4GGAAQBHF9HJrfEJ-hqhAqtQoHNncyjXlEEMmCWg3nqDQy-CSrncDuMudU3PVe7UBWagT1ZZFXoKH_h2XBgtjL1Si6YTzAB3h8wuN1Iau0ZEJjUmzQPYTSuvE9-s50gFpVPrGt3e0j4LVAXi7UvSxdg00boNTlCFi-5-BwWUzIeLFfO8yybVts",
    shortR:
      "AADr1k-CIXiZfsr_hfB65OlZIEBmba3QYOp6FShkcxwdMaxWk7x_ZTxvPdBMdfg9r3tECfr8W92aDDyZF5HkglNpASoowllWxwG2Na1k0VLgNT3xobBCIXwOvx2epoyuIkJZC4O1z1vWqiPb9BKATtL9KRluyMsfRmT64iEv_gg5ooNN",
    shortS:
      "AOWzJoyALR3go_cIouKn2Ls2Lc5iTBSuXvTg95xWX0QLVf-ZlBJOOCfLy-fAGx3mrBbUijFxRfO9joDD1U3PcN-BAABBVfPB4gyv6FBLhTLPNhO16AYIlgJuLB7YFj3Bt5Sj7l0iljoMcyM5CvkVJT8qyTyWWUy5C5tcbeNfuj8eBjkD",
  },
] as const;

describe("derSignature()", () => {
  const curves = {
    ES256: ["P-256", "sha256"],
    ES384: ["P-384", "sha384"],
    ES512: ["P-521", "sha512"],
  } as const;

  for (const [algorithm, [namedCurve, hash]] of Object.entries(curves)) {
    it(`writes DER that OpenSSL accepts for ${algorithm} (AUTH-3)`, () => {
      const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve });
      for (let index = 0; index < 20; index++) {
        const text = Buffer.from(`text ${index}`);
        const fixed = sign(hash, text, { key: privateKey, dsaEncoding: "ieee-p1363" });
        if (!verify(hash, text, publicKey, derSignature(fixed))) throw new Error(fixed.toString("hex"));
      }
    });
  }

  for (const { algorithm, key, shortR, shortS } of shortNumbers) {
    it(`writes DER that OpenSSL accepts for ${algorithm} when a number has leading zeros (AUTH-3)`, () => {
      const [, hash] = curves[algorithm];
      const bytes = ecdsaBytes[algorithm] ?? 0;
      const publicKey = createPublicKey({ key: Buffer.from(key, "base64url"), format: "der", type: "spki" });
      const [r, s] = [Buffer.from(shortR, "base64url"), Buffer.from(shortS, "base64url")];
      expect([r[0], s[bytes]]).to.deep.equal([0, 0]);
      for (const fixed of [r, s]) {
        expect(verify(hash, Buffer.from("text"), publicKey, derSignature(fixed))).to.equal(true);
      }
    });
  }

  it("writes numbers with minimal length, with a leading zero if a number would look negative", () => {
    const zero = Buffer.alloc(4);
    expect(derSignature(zero).toString("hex")).to.equal("3006" + "020100" + "020100");
    expect(derSignature(Buffer.from("0080ff00", "hex")).toString("hex")).to.equal(
      "3009" + "02020080" + "020300ff00",
    );
    expect(derSignature(Buffer.from("7f010001", "hex")).toString("hex")).to.equal(
      "3007" + "02027f01" + "020101",
    );
  });

  it("writes a two-byte length for a signature that needs one", () => {
    const der = derSignature(Buffer.alloc(132, 0xff));
    expect(der.subarray(0, 3).toString("hex")).to.equal("30818a");
    expect(der.length).to.equal(3 + 0x8a);
  });

  it("writes DER that OpenSSL refuses for zeros and numbers above the curve's order, like Node's own conversion (AUTH-3)", () => {
    const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const text = Buffer.from("text");
    for (const fill of [0x00, 0xff, 0x80, 0x7f]) {
      const fixed = Buffer.alloc(64, fill);
      expect(verify("sha256", text, publicKey, derSignature(fixed)), `${fill}`).to.equal(false);
      expect(
        verify("sha256", text, { key: publicKey, dsaEncoding: "ieee-p1363" }, fixed),
        `${fill}`,
      ).to.equal(false);
    }
  });
});

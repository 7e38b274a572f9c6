import {
  constants,
  generateKeyPairSync,
  hash,
  type KeyObject,
  privateEncrypt,
  sign,
  verify,
} from "node:crypto";
import { expect } from "chai";
import { pkcs1Check } from "../src/signature.ts";
import { createRandom } from "./support/random.ts";
import { keyFixture } from "./support/key-fixtures.ts";

const algorithms = {
  "256": { name: "sha256", info: "3031300d060960864801650304020105000420" },
  "384": { name: "sha384", info: "3041300d060960864801650304020205000430" },
  "512": { name: "sha512", info: "3051300d060960864801650304020305000440" },
} as const;
const text = "header.payload";
const { privateKey, publicKey } = keyFixture("rsa2048");
const size = 256;

/** Returns the signature from which a verifier recovers exactly these bytes. */
function signatureOf(recovered: Buffer, key: KeyObject = privateKey): Buffer {
  return privateEncrypt({ key, padding: constants.RSA_NO_PADDING }, recovered);
}

/** Returns a block of the key's size: 0, the type, the filling, 0, and the content. */
function block(content: Buffer, { type = 1, filling = 0xff } = {}): Buffer {
  return Buffer.concat([
    Buffer.of(0, type),
    Buffer.alloc(size - 3 - content.length, filling),
    Buffer.of(0),
    content,
  ]);
}

describe("PKCS #1 v1.5 signatures", () => {
  for (const [bits, { name, info }] of Object.entries(algorithms)) {
    const digest = hash(name, text, "buffer");
    const other = algorithms[bits === "256" ? "384" : "256"];
    const content = Buffer.concat([Buffer.from(info, "hex"), digest]);

    it(`of ${name} are accepted with the complete block only (AUTH-26)`, () => {
      const check = pkcs1Check(bits);
      expect(signatureOf(block(content))).to.deep.equal(sign(name, Buffer.from(text), privateKey));
      expect(check(text, signatureOf(block(content)), publicKey)).to.equal(true);
      const withoutNull = Buffer.from(content.filter((_, index) => index !== 15 && index !== 16));
      withoutNull.writeUInt8(withoutNull.readUInt8(1) - 2, 1);
      withoutNull.writeUInt8(withoutNull.readUInt8(3) - 2, 3);
      const otherDigest = hash(other.name, text, "buffer");
      const faulty: Readonly<Record<string, Buffer>> = {
        "no filling, and bytes behind the digest": Buffer.concat([
          Buffer.of(0, 1, ...Array.from({ length: 8 }, () => 0xff), 0),
          content,
          Buffer.alloc(size - 11 - content.length, 0x5a),
        ]),
        "too little filling": Buffer.concat([
          Buffer.of(0, 1, ...Array.from({ length: 7 }, () => 0xff), 0),
          Buffer.alloc(size - 10 - content.length),
          content,
        ]),
        "bytes before the content": block(Buffer.concat([Buffer.of(0x5a), content])),
        "a byte behind the digest": block(Buffer.concat([content, Buffer.of(0)])),
        "a digest without its last byte": block(content.subarray(0, -1)),
        "the digest alone": block(digest),
        "no NULL in the DigestInfo": block(withoutNull),
        "the digest of another hash": block(Buffer.concat([Buffer.from(info, "hex"), otherDigest])),
        "the block of another hash": block(Buffer.concat([Buffer.from(other.info, "hex"), otherDigest])),
        "the digest of another text": block(
          Buffer.concat([Buffer.from(info, "hex"), hash(name, "header.payloae", "buffer")]),
        ),
        "block type 0": block(content, { type: 0, filling: 0 }),
        "block type 2": block(content, { type: 2 }),
        "a filling of other bytes": block(content, { filling: 0xfe }),
        "a first byte of 1": Buffer.concat([Buffer.of(1), block(content).subarray(1)]),
        "zeros only": Buffer.alloc(size),
      };
      for (const [fault, recovered] of Object.entries(faulty)) {
        const signature = signatureOf(recovered);
        expect(check(text, signature, publicKey), fault).to.equal(false);
        expect(verify(name, Buffer.from(text), publicKey, signature), fault).to.equal(false);
      }
    });

    it(`of ${name} are refused with any bit of the block changed (AUTH-26)`, () => {
      const check = pkcs1Check(bits);
      for (let bit = 0; bit < 8 * size; bit += 5) {
        const recovered = block(content);
        recovered[bit >> 3] = (recovered[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        // OpenSSL refuses to sign a number above the modulus.
        if (recovered[0] === 0 && check(text, signatureOf(recovered), publicKey))
          throw new Error(`bit ${bit}`);
      }
    });
  }

  it("get the same verdict as from node:crypto, with alternating keys of different sizes (AUTH-26)", () => {
    const random = createRandom(23);
    const keys = [keyFixture("rsa2048"), keyFixture("otherRsa2048")];
    keys.push(generateKeyPairSync("rsa", { modulusLength: 2049 }));
    const check = pkcs1Check("256");
    let accepted = 0;
    for (let index = 0; index < 300; index++) {
      const signer = keys[random.whole(keys.length)];
      const key = keys[random.whole(keys.length)]?.publicKey as KeyObject;
      const signature = sign("sha256", Buffer.from(text), signer?.privateKey as KeyObject);
      const sent = [
        signature,
        signature.subarray(1),
        Buffer.concat([Buffer.of(0), signature]),
        Buffer.alloc(0),
      ];
      const each = sent[random.whole(3) === 0 ? random.whole(sent.length) : 0] as Buffer;
      const verdict = check(text, each, key);
      expect(verdict).to.equal(verify("sha256", Buffer.from(text), key, each));
      if (verdict) accepted += 1;
    }
    expect(accepted).to.be.within(50, 250);
  });

  it("are refused without their leading zero (AUTH-26)", () => {
    const check = pkcs1Check("256");
    for (let index = 0; ; index++) {
      const signed = `${text} ${index}`;
      const signature = sign("sha256", Buffer.from(signed), privateKey);
      if (signature[0] !== 0) continue;
      expect(check(signed, signature, publicKey)).to.equal(true);
      expect(check(signed, signature.subarray(1), publicKey)).to.equal(false);
      return;
    }
  });
});

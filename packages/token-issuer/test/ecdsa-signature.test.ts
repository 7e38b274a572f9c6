import { generateKeyPairSync, randomBytes, verify } from "node:crypto";
import { type Algorithm, ecdsaBytes } from "@svc/jwt-auth";
import { createKeyRing } from "@svc/token-issuer";
import { expect } from "chai";
import { fixedSignature } from "../src/signer.ts";

const der = (...numbers: readonly (readonly number[])[]): Buffer => {
  const body = numbers.flatMap((bytes) => [2, bytes.length, ...bytes]);
  return Buffer.from([0x30, ...(body.length > 127 ? [0x81] : []), body.length, ...body]);
};
const filled = (bytes: number, last: number): number[] => [...Array<number>(bytes - 1).fill(0), last];

describe("fixedSignature()", () => {
  it("returns verifiable signatures, with integers of any length and leading bit (ISS-12)", async () => {
    for (const [algorithm, namedCurve, digest, rounds] of [
      // One integer in 128 is short, and every second integer has a leading zero byte.
      ["ES256", "P-256", "sha256", 1500],
      ["ES384", "P-384", "sha384", 40],
      ["ES512", "P-521", "sha512", 40],
    ] as const) {
      const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve });
      const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
      const signer = createKeyRing({ privateKey: pem, algorithm: algorithm as Algorithm }).signer();
      for (let round = 0; round < rounds; round++) {
        const bytes = randomBytes(40);
        const signature = await signer.signBytes(bytes);
        expect(signature).to.have.length(2 * (ecdsaBytes[algorithm] ?? 0));
        const key = { key: publicKey, dsaEncoding: "ieee-p1363" } as const;
        if (!verify(digest, bytes, key, signature)) expect.fail(`${algorithm} ${signature.toString("hex")}`);
      }
    }
  });

  it("pads short integers and drops leading zero bytes", () => {
    expect([...fixedSignature(der([1], [2]), 32)]).to.deep.equal([...filled(32, 1), ...filled(32, 2)]);
    const high = Array<number>(32).fill(0xff);
    expect([...fixedSignature(der([0, ...high], [0x7f]), 32)]).to.deep.equal([...high, ...filled(32, 0x7f)]);
    const long = [1, ...Array<number>(65).fill(0xfe)];
    expect([...fixedSignature(der(long, long), 66)]).to.deep.equal([...long, ...long]);
  });

  it("rejects bytes that are not an ECDSA signature in DER", () => {
    const good = der([1, 2, 3], [4]);
    const bad = [
      Buffer.alloc(0),
      good.subarray(0, -1),
      Buffer.concat([good, Buffer.from([0])]),
      der([1, 2, 3]),
      der([], [1]),
      der(Array<number>(34).fill(1), [1]),
      Buffer.from([0x30, 6, 3, 1, 1, 2, 1, 1]),
    ];
    for (const each of bad) expect(() => fixedSignature(each, 32), each.toString("hex")).to.throw(RangeError);
  });
});

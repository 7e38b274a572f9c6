import { sign } from "node:crypto";
import { keyFixture, type KeyName } from "./key-fixtures.ts";

/** Returns a self-signed certificate of an RSA key. The certificate was valid for one day in 2020. */
export function certificateOf(name: KeyName): string {
  const { publicKey, privateKey } = keyFixture(name);
  const sha256WithRsa = sequence(Buffer.from("06092a864886f70d01010b0500", "hex"));
  const nobody = sequence();
  const toSign = sequence(
    der(0x02, Buffer.from([1])),
    sha256WithRsa,
    nobody,
    sequence(der(0x17, Buffer.from("200101000000Z")), der(0x17, Buffer.from("200102000000Z"))),
    nobody,
    publicKey.export({ type: "spki", format: "der" }),
  );
  const signature = Buffer.concat([Buffer.from([0]), sign("sha256", toSign, privateKey)]);
  const text = sequence(toSign, sha256WithRsa, der(0x03, signature)).toString("base64");
  const lines = text.match(/.{1,64}/g) ?? [];
  return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n");
}

function sequence(...members: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(members));
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const head = length < 128 ? [tag, length] : [tag, 0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(head), content]);
}

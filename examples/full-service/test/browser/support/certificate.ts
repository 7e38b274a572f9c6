import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { isIPv4 } from "node:net";

/** A key and its self-signed certificate, as PEM. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
  /** The hash of the public key, for Chromium's list of trusted keys. */
  readonly spkiHash: string;
}

const dayMs = 24 * 3600 * 1000;

/** Returns a certificate for these hosts, valid from yesterday to tomorrow. */
export function certificateFor(hosts: readonly string[]): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const spki = publicKey.export({ type: "spki", format: "der" });
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: pem(certificate(hosts, spki, privateKey)),
    spkiHash: createHash("sha256").update(spki).digest("base64"),
  };
}

function certificate(hosts: readonly string[], spki: Buffer, key: KeyObject): Buffer {
  const ecdsaWithSha256 = sequence(oid("2a8648ce3d040302"));
  const name = sequence(der(0x31, sequence(oid("550403"), der(0x0c, Buffer.from(`tests ${hosts[0]}`)))));
  const names = hosts.map((host) =>
    isIPv4(host) ? der(0x87, Buffer.from(host.split(".").map(Number))) : der(0x82, Buffer.from(host)),
  );
  const subjectAltName = sequence(oid("551d11"), der(0x04, sequence(...names)));
  const toSign = sequence(
    der(0xa0, integer(Buffer.from([2]))),
    // The first byte is 1, so that the number is positive.
    integer(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    ecdsaWithSha256,
    name,
    sequence(time(Date.now() - dayMs), time(Date.now() + dayMs)),
    name,
    spki,
    der(0xa3, sequence(subjectAltName)),
  );
  return sequence(toSign, ecdsaWithSha256, der(0x03, Buffer.from([0]), sign("sha256", toSign, key)));
}

function pem(bytes: Buffer): string {
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
  return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n");
}

function time(at: number): Buffer {
  const digits = new Date(at).toISOString().replace(/\D/g, "");
  return der(0x17, Buffer.from(`${digits.slice(2, 14)}Z`));
}

function integer(bytes: Buffer): Buffer {
  return der(0x02, bytes);
}

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, "hex"));
}

function sequence(...members: readonly Buffer[]): Buffer {
  return der(0x30, ...members);
}

function der(tag: number, ...members: readonly Buffer[]): Buffer {
  const content = Buffer.concat(members);
  const { length } = content;
  const head = length < 128 ? [tag, length] : [tag, 0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(head), content]);
}

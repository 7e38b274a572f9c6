/** Wire types of fields, without the groups of proto2, which OTLP does not use. */
export type WireType = "varint" | "fixed64" | "bytes" | "fixed32";

/** One field of a protobuf message, not yet interpreted. */
export interface WireField {
  readonly number: number;
  readonly type: WireType;
  /** The content; a varint is widened to eight bytes, little endian, as in fixed64. */
  readonly value: Buffer;
}

const WIRE_TYPES: Readonly<Record<number, WireType>> = {
  0: "varint",
  1: "fixed64",
  2: "bytes",
  5: "fixed32",
};
const MAX_VARINT_BYTES = 10;

/** Reads the fields of a protobuf message in order. Throws if the bytes are truncated or are not protobuf. */
export function* readFields(message: Buffer): Generator<WireField, void, undefined> {
  let position = 0;

  function readBytes(length: number): Buffer {
    const left = message.length - position;
    if (length > left)
      throw new Error(`truncated: a value of ${length} bytes starts ${left} bytes before the end`);
    position += length;
    return message.subarray(position - length, position);
  }

  function readVarint(): bigint {
    let value = 0n;
    for (let index = 0; index < MAX_VARINT_BYTES; index += 1) {
      const byte = readBytes(1).readUInt8();
      value |= BigInt(byte & 0x7f) << BigInt(7 * index);
      if (byte < 0x80) return value;
    }
    throw new Error(`a varint has more than ${MAX_VARINT_BYTES} bytes`);
  }

  function readValue(type: WireType): Buffer {
    if (type === "fixed32") return readBytes(4);
    if (type === "fixed64") return readBytes(8);
    if (type === "bytes") return readBytes(Number(readVarint()));
    const value = Buffer.alloc(8);
    value.writeBigUInt64LE(BigInt.asUintN(64, readVarint()));
    return value;
  }

  while (position < message.length) {
    const tag = Number(readVarint());
    const number = Math.floor(tag / 8);
    const type = WIRE_TYPES[tag % 8];
    if (number === 0) throw new Error("a field has the number 0");
    if (type === undefined) throw new Error(`field ${number} has the unknown wire type ${tag % 8}`);
    yield { number, type, value: readValue(type) };
  }
}
